"""Post escalations in the people's channel, and reminders of open cases below their cards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

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
from bot.escalations.case_view import CaseView, platform_of, reminder_text
from bot.escalations.casework import Casework
from bot.platforms.teams.client.connector import Connector
from bot.platforms.teams.client.errors import NotPermitted
from bot.platforms.teams.escalations.card_sync import CaseCards
from bot.platforms.teams.escalations.card_view import PresserNote
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.payloads.references import thread_conversation
from bot.platforms.teams.rendering.text import teams_plain
from bot.platforms.teams.tenant.conversations import Conversations

_QUESTION_LENGTH = 300

log = structlog.get_logger(__name__)


class Reminders:
    """Posts reminders and stores where each is; without a stored place it posts again."""

    def __init__(
        self,
        connector: Connector,
        places: Conversations,
        notes: Notes,
        cards: CaseCards,
        *,
        public_url: str | None,
    ) -> None:
        self._connector = connector
        self._places = places
        self._notes = notes
        self._cards = cards
        self._public_url = public_url

    async def post(self, case: Case, notice: Notice, channel: str | None) -> PostedRef | None:
        """Post a reminder of an open case: below its card, else in ``channel``; None without both.

        Raises DeliveryFailed, StoreUnavailable.
        """
        card = await self._cards.noted(case.tenant, case.interaction_id)
        where = card.channel if card else channel
        if where is None:
            return None
        key = _reminder_key(case.interaction_id, notice.id)
        if before := _read_place(await self._notes.get(case.tenant, key)):
            return before
        place = await self._places.channel(thread_conversation(card) if card and card.id else where)
        shown = reminder_message(
            case, notice, board_case(case.interaction_id, self._public_url), now=datetime.now(UTC)
        )
        posted = PostedRef(where, await self._connector.send(place, shown))
        await self._note(case, key, posted)
        return posted

    async def remove(self, message: Message) -> None:
        """Delete the reminders of a question. Raises DeliveryFailed, StoreUnavailable."""
        key = _reminder_key(message.interaction_id, "")
        noted = await self._notes.beginning(message.thread.tenant, key)
        for posted in filter(None, map(_read_place, noted.values())):
            try:
                there = await self._places.channel(posted.channel)
                await self._connector.delete(there, posted.id)
            except DeliveryRefused as error:
                log.info("teams.reminder_gone", why=str(error))

    async def _note(self, case: Case, key: str, at: PostedRef) -> None:
        text = f"{at.channel} {at.id}"
        try:
            await self._notes.put(case.tenant, key, text, interaction_id=case.interaction_id)
            # Without a card in Teams the reminder begins a thread of its own.
            await mark_card_thread(self._notes, "teams", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("teams.reminder_not_noted", why=str(error))


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
        connector: Connector,
        places: Conversations,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
    ) -> None:
        self.trouble: ChannelTrouble | None = None
        self._channel = channel
        self._connector = connector
        self._places = places
        self._cards = CaseCards(connector, notes, public_url=public_url)
        self._reminders = Reminders(connector, places, notes, self._cards, public_url=public_url)

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views."""
        self._cards.use_casework(casework)

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; return False if Teams refuses it. Raises DeliveryFailed otherwise.

        A refusal is not retried: the case is on the board, and its asker is told at once. Returns
        True also if the delivery needs no card, or its card is posted already.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self._cards.post(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("teams.people_not_asked", channel=channel, error=str(error))
            self.trouble = ChannelTrouble(channel, str(error))
            return False
        if self.trouble and self.trouble.channel == channel:
            self.trouble = None
        return True

    async def asked(self, delivery: Delivery) -> Delivery:
        """Post the card; return the delivery for the asker, without the hand-over if it failed."""
        if await self.ask(delivery):
            return delivery
        outcome = delivery.outcome
        return replace(delivery, outcome=replace(outcome, response=as_list_only(outcome.response)))

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card of a question. Raises DeliveryFailed, DeliveryRefused."""
        await self._cards.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is, with an empty id if only its channel is known.

        Raises StoreUnavailable.
        """
        if message.thread.platform != "teams":
            return None
        return await self._cards.noted(message.thread.tenant, message.interaction_id)

    async def found(self, message: Message, at: PostedRef) -> None:
        """Store that the card of a question, whose place was unknown, is at ``at``."""
        await self._cards.found(message, at)

    def face(self, message: Message, view: CaseView, aside: PresserNote | None = None) -> Json:
        """Return the card of a question for the person who just pressed a button on it."""
        return self._cards.face(message, view, aside)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of an open case; None without a channel. Raises DeliveryFailed."""
        return await self._reminders.post(case, notice, self._channel)

    async def tell(self, text: str) -> None:
        """Post a line of plain text; do nothing without a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said: Json = {"type": "message", "text": teams_plain(text), "textFormat": "markdown"}
        await self._connector.send(await self._places.channel(self._channel), said)

    async def withdraw(self, message: Message) -> None:
        """Delete the card of a question and its reminders. Raises DeliveryFailed."""
        await self._reminders.remove(message)
        await self._cards.remove(message)
