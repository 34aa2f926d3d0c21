"""Post the cards of escalations in the people's channel, keep them up to date, and remind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.chat.response_view import web_url
from bot.domain.cases import Case, Notice, mark_card_thread
from bot.domain.errors import DeliveryRefused, StoreUnavailable
from bot.domain.handoff import as_list_only, people_channel
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.domain.text.markdown import clip
from bot.domain.text.source_links import board_case
from bot.escalations.cards import CardUpdates
from bot.escalations.case_view import CaseView, platform_of, reminder_text
from bot.escalations.casework import Casework
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import Gone, NotPermitted, RateLimited
from bot.platforms.teams.escalations.card_view import (
    CaseLinks,
    PresserNote,
    card_message,
    case_card,
)
from bot.platforms.teams.payloads.activity import (
    Json,
    question_link,
    reference_to,
    thread_conversation,
)
from bot.platforms.teams.rendering.text import teams_plain
from rag.types import LruDict

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class CaseCards:
    """Posts a case card, stores where, and edits it, whichever process posted it.

    The channel is stored before the card is posted. Teams can't be searched: if a process dies in
    between, a second card is posted, and the first remains. If no card's id is stored, the card on
    which somebody presses becomes the one that is kept up to date.
    """

    def __init__(self, client: TeamsClient, notes: Notes, *, public_url: str | None) -> None:
        self._client = client
        self._notes = notes
        self._public_url = public_url
        self._updates = CardUpdates()
        self._known = LruDict[InteractionId, PostedRef](_REMEMBERED)

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views; without one a card keeps its first view."""
        self._updates.use_casework(casework)

    async def post(self, delivery: Delivery, channel: str) -> None:
        """Post the card of a question, unless it is known to be posted. Raises DeliveryFailed."""
        message = delivery.message
        before = await self._earlier_place(message)
        if before and before.id:
            return
        if before:
            log.warning("teams.card_may_be_twice", interaction_id=message.interaction_id)
        view = await self._updates.view(delivery)
        await self._store_place(message, PostedRef(channel, ""))
        posted = await self._send(message, view, channel, first=before is None)
        self._known[message.interaction_id] = PostedRef(channel, posted)
        await self._store_place(message, PostedRef(channel, posted))
        self._updates.shown(view)
        await self._updates.catch_up(message, view, self.show)

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card, if there is one. Raises DeliveryFailed, DeliveryRefused.

        A view older than the one that this process showed last is skipped.
        """
        await self._updates.show(view, partial(self._edit, message, view))

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is, as ``place_of`` does. Raises StoreUnavailable."""
        if message.thread.platform != "teams":
            return None
        return await self.place_of(message.thread.tenant, message.interaction_id)

    async def place_of(self, tenant: str, case_id: InteractionId) -> PostedRef | None:
        """Return where a card is, with an empty id if only its channel is known.

        None for a question without a card. Raises StoreUnavailable.
        """
        text = await self._notes.get(tenant, _card_key(case_id))
        channel, _, activity_id = (text or "").partition(" ")
        return PostedRef(channel, activity_id) if channel else None

    async def adopt(self, message: Message, at: PostedRef) -> None:
        """Store a pressed card as the one to update; only called if no other is known."""
        if at.id:
            await self._store_place(message, at)

    async def remove(self, message: Message) -> None:
        """Delete the card, as it quotes the question. Raises DeliveryFailed, StoreUnavailable."""
        at = await self.place_of(message.thread.tenant, message.interaction_id)
        if at and at.id:
            try:
                await self._client.delete(_card_thread(message, at), at.id)
            except DeliveryRefused as error:
                log.info("teams.card_gone", why=str(error))

    def card_for_presser(
        self, message: Message, view: CaseView, note: PresserNote | None = None
    ) -> Json:
        """Return the card for the person who just pressed a button on it."""
        return case_card(message, view, self._links(message), now=datetime.now(UTC), note=note)

    async def _send(self, message: Message, view: CaseView, channel: str, *, first: bool) -> str:
        """Post the card; clear the stored place if Teams refuses the first attempt.

        A refusal means that Teams did nothing, so that no card can be there.
        """
        there = reference_to(message.reply_to, channel)
        try:
            return await self._client.send(there, self._shown(message, view))
        except (RateLimited, DeliveryRefused):
            if first:
                await self._forget_place(message)
            raise

    async def _edit(self, message: Message, view: CaseView) -> bool:
        at = await self.place_of(message.thread.tenant, message.interaction_id)
        if at is None or not at.id:
            return False
        try:
            shown = self._shown(message, view)
            await self._client.update(_card_thread(message, at), at.id, shown)
        except Gone:
            log.info("teams.card_gone", interaction_id=message.interaction_id)
        return True

    def _shown(self, message: Message, view: CaseView) -> Json:
        return card_message(message, view, self._links(message), now=datetime.now(UTC))

    def _links(self, message: Message) -> CaseLinks:
        board = board_case(message.interaction_id, self._public_url)
        return CaseLinks(question_link(message) or "", board, self._public_url)

    async def _earlier_place(self, message: Message) -> PostedRef | None:
        """Return where an earlier attempt may have posted the card.

        Without the store, what this process remembers is used: asking people must not wait. A place
        that this process could not store earlier is stored now.
        """
        known = self._known.get(message.interaction_id)
        try:
            noted = await self.place_of(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("teams.card_unknown", why=str(error))
            return known
        if known is None or (noted and noted.id):
            return noted
        await self._store_place(message, known)
        return known

    async def _store_place(self, message: Message, at: PostedRef) -> None:
        case_id, text = message.interaction_id, f"{at.channel} {at.id}".rstrip()
        tenant = message.thread.tenant
        try:
            await self._notes.put(tenant, _card_key(case_id), text, interaction_id=case_id)
            await mark_card_thread(self._notes, "teams", tenant, case_id, at)
        except StoreUnavailable as error:
            log.warning("teams.card_not_noted", interaction_id=case_id, why=str(error))

    async def _forget_place(self, message: Message) -> None:
        try:
            await self._notes.remove(message.thread.tenant, _card_key(message.interaction_id))
        except StoreUnavailable as error:
            log.warning("teams.card_not_noted", why=str(error))


def _card_thread(message: Message, at: PostedRef) -> str:
    """Return a reference to the thread of a card, with the service URL of the question."""
    return reference_to(message.reply_to, thread_conversation(at))


def _card_key(case_id: InteractionId) -> str:
    return f"teams:card:{case_id}"


_QUESTION_LENGTH = 300


def reminder_message(case: Case, notice: Notice, board: str, *, now: datetime) -> Json:
    """Return a reminder message; pure.

    The question is quoted only if it was asked in Teams: the withdrawal of a question from another
    platform would not delete the reminder.
    """
    matter, more = reminder_text(case, notice, now)
    platform = platform_of(case)
    asked = f"Asked by {teams_plain(platform)}."
    if platform == "teams":
        asked = f"> {teams_plain(clip(case.question, _QUESTION_LENGTH))}"
    url = web_url(board) if board else None
    way = f"[Take it on the board]({url})" if url else f"On the board it is {case.interaction_id}."
    text = "\n\n".join([f"**{matter}**{more}", asked, way])
    return {"type": "message", "text": text, "textFormat": "markdown"}


def _reminder_key(case_id: InteractionId, notice_id: str) -> str:
    return f"teams:reminder:{case_id}:{notice_id}"


def _read_place(text: str | None) -> PostedRef | None:
    channel, _, activity_id = (text or "").partition(" ")
    return PostedRef(channel, activity_id) if activity_id else None


@dataclass(frozen=True, slots=True)
class ChannelTrouble:
    """The channel in which the last escalation failed, and why."""

    channel: str
    why: str


class PeopleChannel:
    """Posts escalations in the question's own people's channel, or the configured one.

    ``public_url`` is the base URL of the board; None if it has no public address.
    """

    def __init__(
        self,
        client: TeamsClient,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
    ) -> None:
        self.trouble: ChannelTrouble | None = None
        self._channel = channel
        self._client = client
        self.cards = CaseCards(client, notes, public_url=public_url)
        self._notes = notes
        self._public_url = public_url

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; return False if Teams refuses it. Raises DeliveryFailed otherwise.

        A refusal is not retried: the case is on the board, and its asker is told at once. Returns
        True also if the delivery needs no card, or its card is posted already.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self.cards.post(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("teams.people_not_asked", channel=channel, error=str(error))
            self.trouble = ChannelTrouble(channel, str(error))
            return False
        if self.trouble and self.trouble.channel == channel:
            self.trouble = None
        return True

    async def ask_and_adjust(self, delivery: Delivery) -> Delivery:
        """Post the card; return the delivery for the asker, without the hand-over if it failed."""
        if await self.ask(delivery):
            return delivery
        outcome = delivery.outcome
        return replace(delivery, outcome=replace(outcome, response=as_list_only(outcome.response)))

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of an open case: below its card, else in the configured channel.

        Returns None without both; without a stored place it posts again. Raises DeliveryFailed,
        StoreUnavailable.
        """
        card = await self.cards.place_of(case.tenant, case.interaction_id)
        where = card.channel if card else self._channel
        if where is None:
            return None
        key = _reminder_key(case.interaction_id, notice.id)
        if before := _read_place(await self._notes.get(case.tenant, key)):
            return before
        place = await self._client.conversations.channel(
            thread_conversation(card) if card and card.id else where
        )
        shown = reminder_message(
            case, notice, board_case(case.interaction_id, self._public_url), now=datetime.now(UTC)
        )
        posted = PostedRef(where, await self._client.send(place, shown))
        await self._note_reminder(case, key, posted)
        return posted

    async def tell(self, text: str) -> None:
        """Post a line of plain text; do nothing without a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said: Json = {"type": "message", "text": teams_plain(text), "textFormat": "markdown"}
        await self._client.send(await self._client.conversations.channel(self._channel), said)

    async def withdraw(self, message: Message) -> None:
        """Delete the card of a question and its reminders.

        Raises DeliveryFailed, StoreUnavailable.
        """
        key = _reminder_key(message.interaction_id, "")
        noted = await self._notes.beginning(message.thread.tenant, key)
        for posted in filter(None, map(_read_place, noted.values())):
            try:
                there = await self._client.conversations.channel(posted.channel)
                await self._client.delete(there, posted.id)
            except DeliveryRefused as error:
                log.info("teams.reminder_gone", why=str(error))
        await self.cards.remove(message)

    async def _note_reminder(self, case: Case, key: str, at: PostedRef) -> None:
        text = f"{at.channel} {at.id}"
        try:
            await self._notes.put(case.tenant, key, text, interaction_id=case.interaction_id)
            # Without a card in Teams the reminder begins a thread of its own.
            await mark_card_thread(self._notes, "teams", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("teams.reminder_not_noted", why=str(error))
