"""Questions that their askers take back, and what was asked by buttons below them."""

from __future__ import annotations

from contextlib import suppress

from bot.errors import InteractionUnknown
from bot.office import Office
from bot.types import Message

_LOOKED_AT = 100


class Withdrawals:
    """Takes questions back. All of it may be done again. Raises StoreUnavailable, BotError."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def withdraw(self, message: Message) -> bool:
        """Withdraw a question and what was asked by buttons below it, which quotes it.

        Only the message's place counts. Returns False for one that is not known.
        """
        try:
            await self._office.inbox.cancel(message.interaction_id)
        except InteractionUnknown:
            return False
        for each in await self._office.interactions.in_thread(message.thread, _LOOKED_AT):
            if each.message.id.startswith(f"{message.id}:"):
                with suppress(InteractionUnknown):
                    await self._office.inbox.cancel(each.id)
        return True

    async def never_answer(self, message: Message) -> None:
        """Keep a question as withdrawn that was deleted before it was known, if it comes yet."""
        with suppress(InteractionUnknown):
            await self._office.inbox.cancel(await self._office.inbox.accept(message))
