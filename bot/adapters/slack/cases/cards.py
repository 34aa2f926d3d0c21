"""The cards of cases: where each is, and that it shows the case as it stands."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.cases.card import Ways, card
from bot.adapters.slack.showing.editing import Editor
from bot.adapters.slack.showing.lookup import Lookup
from bot.adapters.slack.showing.permalinks import Permalinks
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import Forms
from bot.adapters.slack.wire.labels import CARD, Place, label, ts_of
from bot.domain.cases import Case, mark_card_thread
from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Notes
from bot.domain.text.source_links import board_case
from bot.domain.types import Delivery, InteractionId, Message, PostedRef
from bot.escalations.cards import CardUpdates
from bot.escalations.case_view import CaseView
from bot.escalations.ports import SeesCases

log = structlog.get_logger(__name__)


class Cards:
    """Posts a card, notes where, and edits it there; whichever process posted it.

    Where a card is going to be is noted before it is posted: a process that dies in between leaves
    a card that is looked up by its metadata.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: Caller,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
    ) -> None:
        self._channel = channel
        self._notes = notes
        self._poster = Poster(client, caller)
        self._editor = Editor(client, caller, self._poster)
        self._lookup = Lookup(client, caller)
        self._permalinks = Permalinks(client, caller)
        self._public_url = public_url
        self._upkeep = CardUpdates()

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen; until then a card shows what its question came with."""
        self._upkeep.attend(sees)

    async def post(self, delivery: Delivery, channel: str) -> None:
        """Post the card of a question. Raises DeliveryFailed."""
        message = delivery.message
        view = await self._upkeep.view(delivery)
        await self._note(message, PostedRef(channel, ""))
        place = Place(channel, None, since=ts_of(message))
        forms = await self._forms(message, view)
        ts = await self._poster.post(place, forms, label(delivery, CARD, of=1))
        await self._note(message, PostedRef(channel, ts))
        self._upkeep.shown(view)
        await self._upkeep.catch_up(message, view, self.show)

    async def show(self, message: Message, view: CaseView) -> None:
        """Bring the card up to date, if there is one. Raises DeliveryFailed, DeliveryRefused.

        What is older than what this process has shown is not shown any more.
        """
        await self._upkeep.show(view, partial(self._edit, message, view))

    async def at(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is. Raises DeliveryFailed, StoreUnavailable."""
        if message.thread.platform != "slack":
            return None
        noted = await self.noted(message.thread.tenant, message.interaction_id)
        channel = noted.channel if noted else self._channel
        if (noted and noted.id) or channel is None:
            return noted
        place = Place(channel, None, since=ts_of(message))
        posted = await self._lookup.search(place, message.interaction_id)
        found = next((each for each in posted if each.label.part == CARD), None)
        if found is None:
            return None
        at = PostedRef(channel, found.ts)
        await self._note(message, at)
        return at

    async def noted(self, tenant: str, case_id: InteractionId) -> PostedRef | None:
        """Return where a card was going to be; its id is empty until it was seen there.

        None for a card that nobody noted: earlier versions did not. Raises StoreUnavailable.
        """
        text = await self._notes.get(tenant, _key(case_id))
        channel, _, ts = (text or "").partition(" ")
        return PostedRef(channel, ts) if channel else None

    async def note_thread(self, case: Case, at: PostedRef) -> None:
        """Note that what is written below a reminder is below the case's card, too."""
        try:
            await mark_card_thread(self._notes, "slack", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("slack.reminder_not_noted", why=str(error))

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the address of a message; None where Slack gives none."""
        return await self._permalinks.of(channel, ts)

    async def _note(self, message: Message, at: PostedRef) -> None:
        """Note where a card is; without the note it is looked up."""
        tenant, case_id = message.thread.tenant, message.interaction_id
        text = f"{at.channel} {at.id}".rstrip()
        try:
            await self._notes.put(tenant, _key(case_id), text, interaction_id=case_id)
            await mark_card_thread(self._notes, "slack", tenant, case_id, at)
        except StoreUnavailable as error:
            log.warning("slack.card_not_noted", why=str(error))

    async def _edit(self, message: Message, view: CaseView) -> bool:
        at = await self.at(message)
        if at is not None:
            await self._editor.edit(at, await self._forms(message, view))
        return at is not None

    async def _forms(self, message: Message, view: CaseView) -> Forms:
        thread = None
        if not message.private:
            thread = await self._permalinks.of(message.thread.channel, ts_of(message))
        board = board_case(view.case.interaction_id, self._public_url)
        ways = Ways(thread or "", board, self._public_url)
        return card(message, view, ways, now=datetime.now(UTC))


def _key(case_id: InteractionId) -> str:
    return f"slack:card:{case_id}"
