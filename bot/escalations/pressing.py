"""A press on a card that people are asked by: whether it is that card, and what it then shows."""

from __future__ import annotations

from typing import Protocol

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

    async def question(self, case_id: InteractionId, channel: str) -> Message:
        """Return the question whose card is in a channel.

        Raises InteractionUnknown where its card is not there; DeliveryFailed, StoreUnavailable.
        """
        asked = await self._recorded.get(case_id)
        if asked is None or asked.message.thread.tenant != self._tenant:
            raise InteractionUnknown(f"There is no question {case_id!r} here.")
        at = await self._cards.card_of(asked.message)
        if at is None or at.channel != channel:
            raise InteractionUnknown(f"The card of {case_id!r} is not in {channel!r}.")
        return asked.message

    async def view(self, case_id: InteractionId) -> CaseView:
        """Return a case as a card shows it. Raises InteractionUnknown, StoreUnavailable."""
        return await self._sees.shown(self._tenant, case_id, EVERYBODY)

    def refresh(self, message: Message) -> None:
        """Show the card as it is to who saw another; once for all who press at the same time."""
        case_id = message.interaction_id
        if case_id not in self._refreshing:
            self._refreshing.add(case_id)
            self._errands.run(self._shown(message), what="card refreshed")

    async def _shown(self, message: Message) -> None:
        try:
            await self._cards.show(message, await self.view(message.interaction_id))
        finally:
            self._refreshing.discard(message.interaction_id)
