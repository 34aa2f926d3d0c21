"""How Frontdesk is, for those who read it where somebody asks."""

from __future__ import annotations

from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.wire.body import Json
from bot.orders.orders import Orders
from bot.orders.types import Orderer
from bot.types import Message

_NOT_HERE = (
    "Not only colleagues read along here, so I tell that in a chat with me alone. Ask me there."
)


class Standing:
    """Implements bot.adapters.teams.commands.commands.Answers.

    ``shut`` tells where others than colleagues read along, who are told nothing; None where what
    everyone may read is for them, too.
    """

    def __init__(self, orders: Orders, *, shut: Onlookers | None) -> None:
        self._orders = orders
        self._shut = shut

    async def answer(self, message: Message, by: Orderer) -> tuple[Json, ...]:
        """Say what is ready and indexed. Raises DeliveryFailed, StoreUnavailable."""
        if not by.alone and self._shut and await self._shut.outside(message.reply_to):
            return said(_NOT_HERE)
        return said((await self._orders.status(by)).text)
