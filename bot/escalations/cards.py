"""Update the cards of cases, and find the case of a click on a card.

A card never returns to an older version of its case; concurrent clicks share one look-up and one
refresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from bot.answering.asker_identity import EVERYONE_PRINCIPALS
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, InteractionUnknown
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Interactions
from bot.escalations.case_view import CaseView, view_of_delivery
from bot.escalations.casework import Casework
from rag.types import LruDict

_REMEMBERED = 1_000

EditCard = Callable[[], Awaitable[bool]]
"""Edits the card; returns whether there was one to edit."""

ShowCard = Callable[[Message, CaseView], Awaitable[None]]

log = structlog.get_logger(__name__)


class CardUpdates:
    """Update cards, keeping the version of each case that this process last showed."""

    def __init__(self) -> None:
        self._casework: Casework | None = None
        self._shown = LruDict[InteractionId, int](_REMEMBERED)
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    def use_casework(self, casework: Casework) -> None:
        """Set the source of case views; until then a card shows the question as delivered."""
        self._casework = casework

    async def view(self, delivery: Delivery) -> CaseView:
        """Return the view for a new card; as delivered if the case can't be read."""
        return await self._seen(delivery.message) or view_of_delivery(delivery)

    async def show(self, view: CaseView, edit: EditCard) -> None:
        """Edit the card of a case, unless it shows this version or a newer one.

        Raises what ``edit`` raises.
        """
        case = view.case
        turn = self._turns.setdefault(case.interaction_id, asyncio.Lock())
        async with turn:
            if self._shown.get(case.interaction_id, -1) < case.version and await edit():
                self.shown(view)

    def shown(self, view: CaseView) -> None:
        """Store the version that the card shows."""
        self._shown[view.case.interaction_id] = view.case.version

    async def catch_up(self, message: Message, shown: CaseView, show: ShowCard) -> None:
        """Show changes made while a card was posted: their notices found no card to edit."""
        now = await self._seen(message)
        if now is None or now.case.version == shown.case.version:
            return
        try:
            await show(message, now)
        except BotError as error:
            log.warning(
                "escalation.card_is_behind", platform=message.thread.platform, why=str(error)
            )

    async def _seen(self, message: Message) -> CaseView | None:
        if self._casework is None:
            return None
        try:
            return await self._casework.shown(
                message.thread.tenant, message.interaction_id, EVERYONE_PRINCIPALS
            )
        except BotError as error:
            log.warning(
                "escalation.case_not_seen", platform=message.thread.platform, why=str(error)
            )
            return None


class ShowsCards(Protocol):
    """Finds and updates the cards of a platform: its channel."""

    async def card_of(self, message: Message) -> PostedRef | None: ...

    async def show(self, message: Message, view: CaseView) -> None: ...


class CardActions:
    """Handle clicks on the cards of one platform."""

    def __init__(
        self,
        *,
        tenant: str,
        casework: Casework,
        interactions: Interactions,
        cards: ShowsCards,
        background: BackgroundTasks,
    ) -> None:
        self._tenant = tenant
        self._casework = casework
        self._interactions = interactions
        self._cards = cards
        self._background = background
        self._refreshing: set[InteractionId] = set()
        self._next: dict[InteractionId, asyncio.Task[CaseView]] = {}
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    async def question(self, case_id: InteractionId, channel: str) -> Message:
        """Return the question whose card is in a channel; raises what ``place`` raises."""
        message, _ = await self.place(case_id, channel)
        return message

    async def place(self, case_id: InteractionId, channel: str) -> tuple[Message, PostedRef]:
        """Return the question whose card is in a channel, and the card's position.

        Raises InteractionUnknown if its card is not there; DeliveryFailed, StoreUnavailable.
        """
        asked = await self._interactions.get(case_id)
        if asked is None or asked.message.thread.tenant != self._tenant:
            raise InteractionUnknown(f"There is no question {case_id!r} here.")
        at = await self._cards.card_of(asked.message)
        if at is None or at.channel != channel:
            raise InteractionUnknown(f"The card of {case_id!r} is not in {channel!r}.")
        return asked.message, at

    async def view(self, case_id: InteractionId) -> CaseView:
        """Return the current view of a case's card. Raises InteractionUnknown, StoreUnavailable.

        A caller that arrives during a look-up shares the next one, which includes all acts before
        it.
        """
        looked = self._next.get(case_id)
        if looked is None:
            looked = self._next[case_id] = asyncio.create_task(self._looked(case_id))
            # Whoever waited for it may have left.
            looked.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(looked)

    def refresh(self, message: Message) -> None:
        """Refresh an outdated card in the background; concurrent clicks share one refresh."""
        case_id = message.interaction_id
        if case_id not in self._refreshing:
            self._refreshing.add(case_id)
            self._background.run(self._shown(message), what="card refreshed")

    async def _looked(self, case_id: InteractionId) -> CaseView:
        turn = self._turns.setdefault(case_id, asyncio.Lock())
        async with turn:
            del self._next[case_id]
            return await self._casework.shown(self._tenant, case_id, EVERYONE_PRINCIPALS)

    async def _shown(self, message: Message) -> None:
        try:
            await self._cards.show(message, await self.view(message.interaction_id))
        finally:
            self._refreshing.discard(message.interaction_id)
