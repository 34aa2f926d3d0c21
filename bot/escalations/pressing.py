"""A press on a card that people are asked by: whether it is that card, and what it then shows."""

from __future__ import annotations

import asyncio
from typing import Protocol
from weakref import WeakValueDictionary

from bot.errands import Errands
from bot.errors import InteractionUnknown
from bot.escalations.view import CaseView
from bot.readers import EVERYBODY
from bot.types import Interaction, InteractionId, Message, PostedRef
from rag.types import Principal


class Sees(Protocol):
    """Shows a case within what a reader may read: bot.escalations.casework.Casework."""

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView: ...


class Recorded(Protocol):
    """Where a question was asked, in the record."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...


class ShowsCards(Protocol):
    """Where the cards of a platform are, and their upkeep: its channel."""

    async def card_of(self, message: Message) -> PostedRef | None: ...

    async def show(self, message: Message, view: CaseView) -> None: ...


class PressedCards:
    """The cards of one platform, as those who press on them see them."""

    def __init__(
        self,
        *,
        tenant: str,
        sees: Sees,
        recorded: Recorded,
        cards: ShowsCards,
        errands: Errands,
    ) -> None:
        self._tenant = tenant
        self._sees = sees
        self._recorded = recorded
        self._cards = cards
        self._errands = errands
        self._refreshing: set[InteractionId] = set()
        self._next: dict[InteractionId, asyncio.Task[CaseView]] = {}
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    async def question(self, case_id: InteractionId, channel: str) -> Message:
        """Return the question whose card is in a channel; raises what ``place`` raises."""
        message, _ = await self.place(case_id, channel)
        return message

    async def place(self, case_id: InteractionId, channel: str) -> tuple[Message, PostedRef]:
        """Return the question whose card is in a channel, and where that is.

        Raises InteractionUnknown where its card is not there; DeliveryFailed, StoreUnavailable.
        """
        asked = await self._recorded.get(case_id)
        if asked is None or asked.message.thread.tenant != self._tenant:
            raise InteractionUnknown(f"There is no question {case_id!r} here.")
        at = await self._cards.card_of(asked.message)
        if at is None or at.channel != channel:
            raise InteractionUnknown(f"The card of {case_id!r} is not in {channel!r}.")
        return asked.message, at

    async def view(self, case_id: InteractionId) -> CaseView:
        """Return a case as a card shows it now. Raises InteractionUnknown, StoreUnavailable.

        Who comes while one is being looked up shares the next one, which has all they did.
        """
        looked = self._next.get(case_id)
        if looked is None:
            looked = self._next[case_id] = asyncio.create_task(self._looked(case_id))
            # Whoever waited for it may have left.
            looked.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(looked)

    def refresh(self, message: Message) -> None:
        """Show the card as it is to who saw another; once for all who press at the same time."""
        case_id = message.interaction_id
        if case_id not in self._refreshing:
            self._refreshing.add(case_id)
            self._errands.run(self._shown(message), what="card refreshed")

    async def _looked(self, case_id: InteractionId) -> CaseView:
        turn = self._turns.setdefault(case_id, asyncio.Lock())
        async with turn:
            del self._next[case_id]
            return await self._sees.shown(self._tenant, case_id, EVERYBODY)

    async def _shown(self, message: Message) -> None:
        try:
            await self._cards.show(message, await self.view(message.interaction_id))
        finally:
            self._refreshing.discard(message.interaction_id)
