"""Take what people write in Teams into the inbox, unless it was deleted before it came."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from bot.chat.adapters import ChatContext
from bot.chat.messages import MessageWithdrawals, ReceivedMessage, should_take
from bot.domain.messages import Message
from bot.platforms.teams.payloads.activity import Body
from bot.platforms.teams.payloads.messages import parse_message
from bot.platforms.teams.transport.dispatch import Dispatch

_MOST_DELETED = 50
"""In one conversation; what is deleted and comes yet, comes soon."""


class DeletedMessages:
    """Remembers what was deleted there and is not known, for all processes.

    Most of it is talk that nobody asked the bot about, so it is not recorded as questions; in a
    personal chat everything is one. Each has a note of its own: two that are deleted at the same
    time must not overwrite each other. Raises StoreUnavailable.
    """

    def __init__(self, office: ChatContext, *, clock: Callable[[], float] = time.time) -> None:
        self._notes = office.notes
        self._tenant = office.tenant
        self._clock = clock

    async def note(self, message: Message) -> None:
        """Remember that a message is gone, and forget what has long been so."""
        await self._notes.put(self._tenant, _deleted_key(message), f"{self._clock():020.6f}")
        noted = await self._notes.beginning(self._tenant, _deleted_prefix(message))
        newest_first = sorted(noted, key=lambda key: noted[key], reverse=True)
        for key in newest_first[_MOST_DELETED:]:
            await self._notes.remove(self._tenant, key)

    async def forget(self, message: Message) -> None:
        """Take back that a message is gone."""
        await self._notes.remove(self._tenant, _deleted_key(message))

    async def has(self, message: Message) -> bool:
        """Tell whether a message is gone."""
        if message.private:
            return False
        return await self._notes.get(self._tenant, _deleted_key(message)) is not None


def _deleted_key(message: Message) -> str:
    return f"{_deleted_prefix(message)}{message.id}"


def _deleted_prefix(message: Message) -> str:
    return f"teams:deleted:{message.thread.channel}:"


class MessageListener:
    """Implements Listener: personal chats, mentions, and what is overheard where allowed.

    What does not mention the bot comes only where its app was permitted to read along.
    """

    def __init__(self, office: ChatContext) -> None:
        self._office = office
        self._withdrawals = MessageWithdrawals(office)
        self.deleted = DeletedMessages(office)

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
        return parse_message(body, tenant=self._office.tenant, received_at=datetime.now(UTC))

    async def accept(self, message: Message) -> None:
        """Have a message answered, unless it was deleted before it came."""
        await self._office.inbox.accept(message)
        if await self.deleted.has(message):
            await self._withdrawals.withdraw(message)
