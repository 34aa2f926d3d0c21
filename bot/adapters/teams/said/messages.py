"""What people write in Teams, into the inbox."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.said.deleted import Deleted
from bot.adapters.teams.wire.body import Body
from bot.adapters.teams.wire.reading import heard
from bot.chat.adapters import ChatContext
from bot.chat.messages import MessageWithdrawals, ReceivedMessage, should_take
from bot.domain.types import Message


class Messages:
    """Implements Registers: personal chats, mentions, and what is overheard where allowed.

    What does not mention the bot comes only where its app was permitted to read along.
    """

    def __init__(self, office: ChatContext) -> None:
        self._office = office
        self._withdrawals = MessageWithdrawals(office)
        self.deleted = Deleted(office)

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)

    async def _take(self, body: Body) -> bool:
        said = self.heard(body)
        if said is None or not await should_take(self._office.hearing, said):
            return False
        await self.accept(said.message)
        return True

    def heard(self, body: Body) -> ReceivedMessage | None:
        """Return what an activity says to this company's bot."""
        return heard(body, tenant=self._office.tenant, received_at=datetime.now(UTC))

    async def accept(self, message: Message) -> None:
        """Have a message answered, unless it was deleted before it came."""
        await self._office.inbox.accept(message)
        if await self.deleted.has(message):
            await self._withdrawals.withdraw(message)
