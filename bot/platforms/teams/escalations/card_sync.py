"""Post the card of a case, store where it is, and keep it up to date."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.domain.cases import mark_card_thread
from bot.domain.errors import DeliveryRefused, StoreUnavailable
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.domain.text.source_links import board_case
from bot.escalations.cards import CardUpdates
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.platforms.teams.client.connector import Connector
from bot.platforms.teams.client.errors import Gone, RateLimited
from bot.platforms.teams.escalations.card_view import (
    CaseLinks,
    PresserNote,
    card_message,
    case_card,
)
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.payloads.references import question_link, reference_to, thread_conversation

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class CaseCards:
    """Posts a case card, stores where, and edits it, whichever process posted it.

    The channel is stored before the card is posted. Teams can't be searched: if a process dies in
    between, a second card is posted, and the first remains. If no card's id is stored, the card on
    which somebody presses becomes the one that is kept up to date.
    """

    def __init__(self, connector: Connector, notes: Notes, *, public_url: str | None) -> None:
        self._connector = connector
        self._notes = notes
        self._public_url = public_url
        self._upkeep = CardUpdates()
        self._known: OrderedDict[InteractionId, PostedRef] = OrderedDict()

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views; without one a card keeps its first view."""
        self._upkeep.use_casework(casework)

    async def post(self, delivery: Delivery, channel: str) -> None:
        """Post the card of a question, unless it is known to be posted. Raises DeliveryFailed."""
        message = delivery.message
        before = await self._before(message)
        if before and before.id:
            return
        if before:
            log.warning("teams.card_may_be_twice", interaction_id=message.interaction_id)
        view = await self._upkeep.view(delivery)
        await self._note(message, PostedRef(channel, ""))
        posted = await self._posted(message, view, channel, first=before is None)
        self._remember(message, PostedRef(channel, posted))
        await self._note(message, PostedRef(channel, posted))
        self._upkeep.shown(view)
        await self._upkeep.catch_up(message, view, self.show)

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the card, if there is one. Raises DeliveryFailed, DeliveryRefused.

        A view older than the one that this process showed last is skipped.
        """
        await self._upkeep.show(view, partial(self._edit, message, view))

    async def noted(self, tenant: str, case_id: InteractionId) -> PostedRef | None:
        """Return where a card is, with an empty id if only its channel is known.

        None for a question without a card. Raises StoreUnavailable.
        """
        text = await self._notes.get(tenant, _card_key(case_id))
        channel, _, activity_id = (text or "").partition(" ")
        return PostedRef(channel, activity_id) if channel else None

    async def found(self, message: Message, at: PostedRef) -> None:
        """Store a pressed card as the one to update; only called if no other is known."""
        if at.id:
            await self._note(message, at)

    async def remove(self, message: Message) -> None:
        """Delete the card, as it quotes the question. Raises DeliveryFailed, StoreUnavailable."""
        at = await self.noted(message.thread.tenant, message.interaction_id)
        if at and at.id:
            try:
                await self._connector.delete(_card_thread(message, at), at.id)
            except DeliveryRefused as error:
                log.info("teams.card_gone", why=str(error))

    def face(self, message: Message, view: CaseView, aside: PresserNote | None = None) -> Json:
        """Return the card for the person who just pressed a button on it."""
        return case_card(message, view, self._ways(message), now=datetime.now(UTC), aside=aside)

    async def _posted(self, message: Message, view: CaseView, channel: str, *, first: bool) -> str:
        """Post the card; clear the stored place if Teams refuses the first attempt.

        A refusal means that Teams did nothing, so that no card can be there.
        """
        there = reference_to(message.reply_to, channel)
        try:
            return await self._connector.send(there, self._shown(message, view))
        except (RateLimited, DeliveryRefused):
            if first:
                await self._forget(message)
            raise

    async def _edit(self, message: Message, view: CaseView) -> bool:
        at = await self.noted(message.thread.tenant, message.interaction_id)
        if at is None or not at.id:
            return False
        try:
            shown = self._shown(message, view)
            await self._connector.update(_card_thread(message, at), at.id, shown)
        except Gone:
            log.info("teams.card_gone", interaction_id=message.interaction_id)
        return True

    def _shown(self, message: Message, view: CaseView) -> Json:
        return card_message(message, view, self._ways(message), now=datetime.now(UTC))

    def _ways(self, message: Message) -> CaseLinks:
        board = board_case(message.interaction_id, self._public_url)
        return CaseLinks(question_link(message) or "", board, self._public_url)

    async def _before(self, message: Message) -> PostedRef | None:
        """Return where an earlier attempt may have posted the card.

        Without the store, what this process remembers is used: asking people must not wait. A place
        that this process could not store earlier is stored now.
        """
        known = self._known.get(message.interaction_id)
        try:
            noted = await self.noted(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("teams.card_unknown", why=str(error))
            return known
        if known is None or (noted and noted.id):
            return noted
        await self._note(message, known)
        return known

    def _remember(self, message: Message, at: PostedRef) -> None:
        self._known[message.interaction_id] = at
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    async def _note(self, message: Message, at: PostedRef) -> None:
        case_id, text = message.interaction_id, f"{at.channel} {at.id}".rstrip()
        tenant = message.thread.tenant
        try:
            await self._notes.put(tenant, _card_key(case_id), text, interaction_id=case_id)
            await mark_card_thread(self._notes, "teams", tenant, case_id, at)
        except StoreUnavailable as error:
            log.warning("teams.card_not_noted", interaction_id=case_id, why=str(error))

    async def _forget(self, message: Message) -> None:
        try:
            await self._notes.remove(message.thread.tenant, _card_key(message.interaction_id))
        except StoreUnavailable as error:
            log.warning("teams.card_not_noted", why=str(error))


def _card_thread(message: Message, at: PostedRef) -> str:
    """Return a reference to the thread of a card, with the service URL of the question."""
    return reference_to(message.reply_to, thread_conversation(at))


def _card_key(case_id: InteractionId) -> str:
    return f"teams:card:{case_id}"
