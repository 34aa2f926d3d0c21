"""Post cards, reminders and lines in the escalation channel, and keep cards current.

A card's channel is recorded before the card is posted: if a process dies in between, its card is
looked up by its metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.cases import Case, Notice, mark_card_thread
from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.handoff import people_channel
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.domain.text.markdown import disarm, without_code
from bot.domain.text.source_links import board_case
from bot.escalations.cards import CardUpdates
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.conversations import MessageLookup, Permalinks
from bot.platforms.slack.client.errors import NOT_IN_CHANNEL, NeverPermitted, NotPermitted
from bot.platforms.slack.client.posting import Editor, Poster
from bot.platforms.slack.escalations.card_view import CaseLinks, case_card
from bot.platforms.slack.escalations.notices import (
    mrkdwn_link,
    notice_label,
    parts_of,
    reminder_message,
)
from bot.platforms.slack.payloads.metadata import (
    CARD_PART,
    MessageLabel,
    Place,
    PostedMessage,
    label_of,
    ts_of,
    ts_since,
)
from bot.platforms.slack.payloads.mrkdwn import escaped_label
from bot.platforms.slack.rendering import MessageForm, MessageForms, section
from bot.platforms.slack.workspace.bot_identity import SlackHealth

log = structlog.get_logger(__name__)


class CaseCards:
    """Posts cards, records where, and edits them there, whichever process posted them."""

    def __init__(
        self,
        client: AsyncWebClient,
        caller: ApiCaller,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
    ) -> None:
        self._channel = channel
        self._notes = notes
        self._poster = Poster(client, caller)
        self._editor = Editor(client, caller, self._poster)
        self._lookup = MessageLookup(client, caller)
        self._permalinks = Permalinks(client, caller)
        self._public_url = public_url
        self._upkeep = CardUpdates()

    def use_casework(self, casework: Casework) -> None:
        """Set the source of case views; until then a card shows what its question came with."""
        self._upkeep.use_casework(casework)

    async def post(self, delivery: Delivery, channel: str) -> None:
        """Post the card of a question. Raises DeliveryFailed."""
        message = delivery.message
        view = await self._upkeep.view(delivery)
        await self._note(message, PostedRef(channel, ""))
        place = Place(channel, None, since=ts_of(message))
        forms = await self._forms(message, view)
        ts = await self._poster.post(place, forms, label_of(delivery, CARD_PART, of=1))
        await self._note(message, PostedRef(channel, ts))
        self._upkeep.shown(view)
        await self._upkeep.catch_up(message, view, self.show)

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card, if there is one. Raises DeliveryFailed, DeliveryRefused.

        A view older than the one that this process has shown is ignored.
        """
        await self._upkeep.show(view, partial(self._edit, message, view))

    async def at(self, message: Message) -> PostedRef | None:
        """Return the reference of a question's card. Raises DeliveryFailed, StoreUnavailable."""
        if message.thread.platform != "slack":
            return None
        noted = await self.noted(message.thread.tenant, message.interaction_id)
        channel = noted.channel if noted else self._channel
        if (noted and noted.id) or channel is None:
            return noted
        place = Place(channel, None, since=ts_of(message))
        posted = await self._lookup.search(place, message.interaction_id)
        found = next((each for each in posted if each.label.part == CARD_PART), None)
        if found is None:
            return None
        at = PostedRef(channel, found.ts)
        await self._note(message, at)
        return at

    async def noted(self, tenant: str, case_id: InteractionId) -> PostedRef | None:
        """Return the recorded reference of a card; its id is "" until it was seen there.

        None for a card that was not recorded: earlier versions did not. Raises StoreUnavailable.
        """
        text = await self._notes.get(tenant, _card_key(case_id))
        channel, _, ts = (text or "").partition(" ")
        return PostedRef(channel, ts) if channel else None

    async def note_thread(self, case: Case, at: PostedRef) -> None:
        """Record that messages below a reminder belong to the case's card, too."""
        try:
            await mark_card_thread(self._notes, "slack", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("slack.reminder_not_noted", why=str(error))

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the permalink of a message; None if Slack gives none."""
        return await self._permalinks.of(channel, ts)

    async def _note(self, message: Message, at: PostedRef) -> None:
        """Record where a card is; without the record it is looked up."""
        tenant, case_id = message.thread.tenant, message.interaction_id
        text = f"{at.channel} {at.id}".rstrip()
        try:
            await self._notes.put(tenant, _card_key(case_id), text, interaction_id=case_id)
            await mark_card_thread(self._notes, "slack", tenant, case_id, at)
        except StoreUnavailable as error:
            log.warning("slack.card_not_noted", why=str(error))

    async def _edit(self, message: Message, view: CaseView) -> bool:
        at = await self.at(message)
        if at is not None:
            await self._editor.edit(at, await self._forms(message, view))
        return at is not None

    async def _forms(self, message: Message, view: CaseView) -> MessageForms:
        thread = None
        if not message.private:
            thread = await self._permalinks.of(message.thread.channel, ts_of(message))
        board = board_case(view.case.interaction_id, self._public_url)
        ways = CaseLinks(thread or "", board, self._public_url)
        return case_card(message, view, ways, now=datetime.now(UTC))


def _card_key(case_id: InteractionId) -> str:
    return f"slack:card:{case_id}"


_REMINDER_PART = "1"
_UNTRACKED = MessageLabel("", InteractionId(""), "news", 1)
"""The label of messages that belong to no question and are never looked up."""


class PeopleChannel:
    """Posts escalations in their channel: the question's own, or the configured one.

    ``public_url`` is where colleagues open the board, None if it has no address.
    ``standing`` records which channel can't be reached.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: ApiCaller,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
        standing: SlackHealth,
    ) -> None:
        self._channel = channel
        self._standing = standing
        self._public_url = public_url
        self._poster = Poster(client, caller)
        self._lookup = MessageLookup(client, caller)
        self._cards = CaseCards(client, caller, notes, channel=channel, public_url=public_url)

    def use_casework(self, casework: Casework) -> None:
        """Set the source of case views."""
        self._cards.use_casework(casework)

    def are_asked(self, delivery: Delivery) -> bool:
        """Return whether a delivery has a card."""
        return people_channel(delivery, self._channel) is not None

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; return False if Slack refuses it. Raises DeliveryFailed for other errors.

        A refusal is not waited out: the board has the case, and its asker is told so at once.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self._cards.post(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("slack.people_not_asked", channel=channel, error=str(error))
            self._standing.missed_people(channel, str(error))
            return False
        self._standing.reached_people(channel)
        return True

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card of a question. Raises DeliveryFailed, DeliveryRefused."""
        await self._cards.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return the reference of a question's card. Raises DeliveryFailed, StoreUnavailable."""
        return await self._cards.at(message)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of a waiting case; None without a channel. Raises DeliveryFailed.

        A reminder that an earlier attempt may have posted is looked up first.
        """
        shown = await self._cards.noted(case.tenant, case.interaction_id)
        channel = shown.channel if shown else self._channel
        if channel is None:
            return None
        place = Place(channel, None, since=ts_since(case.opened_at))
        looks = notice.attempts > 0 or shown is None or not shown.id
        there = await self._posted(place, notice) if looks else ()
        told = parts_of(notice, there).get(_REMINDER_PART)
        if told is not None:
            return PostedRef(told.channel, told.ts)
        links = await self._links(case.interaction_id, _card_ref(there, shown))
        forms = reminder_message(case, notice, now=datetime.now(UTC), links=links)
        ts = await self._poster.post(place, forms, notice_label(notice, _REMINDER_PART, of=1))
        posted = PostedRef(channel, ts)
        await self._cards.note_thread(case, posted)
        return posted

    async def tell(self, text: str) -> None:
        """Post a line of plain text, if there is a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said = escaped_label(disarm(without_code(text)))
        forms = (MessageForm(said, (section(said),)), MessageForm(said))
        await self._poster.post(Place(self._channel, None, since="0"), forms, _UNTRACKED)

    async def cards(self, message: Message) -> tuple[PostedMessage, ...]:
        """Return the posted cards and reminders about a message. Raises DeliveryFailed.

        If their channel is not recorded, or can't be read, the configured one is searched.
        """
        try:
            shown = await self._cards.noted(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("slack.card_unknown", why=str(error))
            shown = None
        channel = shown.channel if shown else self._channel
        if channel is None:
            return ()
        place = Place(channel, None, since=ts_of(message))
        found = await self._seen(place, message.interaction_id)
        if shown is None or not shown.id or any(each.ts == shown.id for each in found):
            return found
        return (
            *found,
            PostedMessage(
                channel, shown.id, MessageLabel("", message.interaction_id, CARD_PART, 1)
            ),
        )

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the permalink of a message; None if Slack gives none."""
        return await self._cards.permalink(channel, ts)

    async def _seen(self, place: Place, case_id: InteractionId) -> tuple[PostedMessage, ...]:
        try:
            return await self._lookup.search(place, case_id)
        except (NotPermitted, NeverPermitted) as error:
            if error.code in NOT_IN_CHANNEL:
                return ()
            raise

    async def _posted(self, place: Place, notice: Notice) -> Sequence[PostedMessage]:
        """Return a case's messages in the channel; () if that fails for a first reminder."""
        try:
            return await self._lookup.search(place, notice.interaction_id)
        except DeliveryFailed as error:
            if notice.attempts:
                raise
            log.warning("slack.card_not_found", error=str(error))
            return ()

    async def _links(self, case_id: InteractionId, shown: PostedRef | None) -> list[str]:
        """Return links to a case: to its card in this channel, and to the board."""
        links = []
        permalink = await self.permalink(shown.channel, shown.id) if shown else None
        if permalink is not None:
            links.append(mrkdwn_link(permalink, "See the question"))
        if board := board_case(case_id, self._public_url):
            links.append(mrkdwn_link(board, "Take it on the board"))
        return links


def _card_ref(there: Sequence[PostedMessage], noted: PostedRef | None) -> PostedRef | None:
    if noted is not None and noted.id:
        return noted
    found = next((each for each in there if each.label.part == CARD_PART), None)
    return PostedRef(found.channel, found.ts) if found else None
