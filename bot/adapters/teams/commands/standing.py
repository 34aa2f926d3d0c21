"""How Frontdesk is, for those who read it where somebody asks."""

from __future__ import annotations

from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.wire.body import Json
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.types import CommandCaller
from bot.domain.types import Message

_NOT_HERE = (
    "Not only colleagues read along here, so I tell that in a chat with me alone. Ask me there."
)


class Standing:
    """Implements bot.adapters.teams.commands.commands.Answers.

    It names every space: where others than colleagues read along nothing is said.
    """

    def __init__(self, orders: CommandExecutor, onlookers: Onlookers) -> None:
        self._orders = orders
        self._onlookers = onlookers

    async def answer(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Say what is ready and indexed. Raises DeliveryFailed, StoreUnavailable."""
        if not by.alone and await self._onlookers.outside(message.reply_to):
            return said(_NOT_HERE)
        return said((await self._orders.status(by)).text)
