"""That a card shows its case as it stands, and never as it stood before."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import structlog

from bot.errors import BotError
from bot.escalations.ports import SeesCases
from bot.escalations.view import CaseView, bare_view
from bot.readers import EVERYBODY
from bot.types import Delivery, InteractionId, Message

_REMEMBERED = 1_000

Edit = Callable[[], Awaitable[bool]]
"""Edits the card, and tells whether there was one to edit."""

Show = Callable[[Message, CaseView], Awaitable[None]]

log = structlog.get_logger(__name__)


class Upkeep:
    """Remembers which version of a case this process has shown on its card."""

    def __init__(self) -> None:
        self._sees: SeesCases | None = None
        self._shown: OrderedDict[InteractionId, int] = OrderedDict()
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen; until then a card shows what its question came with."""
        self._sees = sees

    async def view(self, delivery: Delivery) -> CaseView:
        """Return how a new card shows a question; as it came where its case can't be seen."""
        return await self._seen(delivery.message) or bare_view(delivery)

    async def show(self, view: CaseView, edit: Edit) -> None:
        """Edit the card of a case, unless it has shown this, or something newer.

        Raises what ``edit`` raises.
        """
        case = view.case
        turn = self._turns.setdefault(case.interaction_id, asyncio.Lock())
        async with turn:
            if self._shown.get(case.interaction_id, -1) < case.version and await edit():
                self.shown(view)

    def shown(self, view: CaseView) -> None:
        """Remember what the card shows."""
        case = view.case
        self._shown[case.interaction_id] = case.version
        self._shown.move_to_end(case.interaction_id)
        while len(self._shown) > _REMEMBERED:
            self._shown.popitem(last=False)

    async def catch_up(self, message: Message, shown: CaseView, show: Show) -> None:
        """Show what was done while a card was posted: its news found no card to be shown on."""
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
        if self._sees is None:
            return None
        try:
            return await self._sees.shown(message.thread.tenant, message.interaction_id, EVERYBODY)
        except BotError as error:
            log.warning(
                "escalation.case_not_seen", platform=message.thread.platform, why=str(error)
            )
            return None
