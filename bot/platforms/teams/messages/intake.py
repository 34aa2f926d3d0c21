"""Store received Teams messages in the inbox, unless they were deleted before they arrived."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from bot.chat.adapters import ChatContext
from bot.chat.listening_policy import ReceivedMessage, should_take
from bot.chat.messages import MessageWithdrawals
from bot.domain.messages import Message
from bot.platforms.teams.payloads.activity import Body
from bot.platforms.teams.payloads.messages import parse_message
from bot.platforms.teams.transport.dispatch import Dispatch

_MOST_DELETED = 50
"""Per conversation; a message that arrives after its deletion arrives soon."""


class DeletedMessages:
    """Stores deletions of unknown messages, shared by all processes.

    Outside personal chats most of these messages were never meant for the bot, so they are not
    recorded as questions; in a personal chat every message is a question. Each deletion has its own
    note, as concurrent ones must not overwrite each other. Raises StoreUnavailable.
    """

    def __init__(self, context: ChatContext, *, clock: Callable[[], float] = time.time) -> None:
        self._notes = context.notes
        self._tenant = context.tenant
        self._clock = clock

    async def note(self, message: Message) -> None:
        """Store that a message was deleted; remove the oldest notes of the conversation."""
        await self._notes.put(self._tenant, _deleted_key(message), f"{self._clock():020.6f}")
        noted = await self._notes.beginning(self._tenant, _deleted_prefix(message))
        newest_first = sorted(noted, key=lambda key: noted[key], reverse=True)
        for key in newest_first[_MOST_DELETED:]:
            await self._notes.remove(self._tenant, key)

    async def forget(self, message: Message) -> None:
        """Remove the note that a message was deleted."""
        await self._notes.remove(self._tenant, _deleted_key(message))

    async def has(self, message: Message) -> bool:
        """Return whether a message was deleted."""
        if message.private:
            return False
        return await self._notes.get(self._tenant, _deleted_key(message)) is not None


def _deleted_key(message: Message) -> str:
    return f"{_deleted_prefix(message)}{message.id}"


def _deleted_prefix(message: Message) -> str:
    return f"teams:deleted:{message.thread.channel}:"


class MessageListener:
    """Receives personal messages, mentions and, where allowed, others. Implements `Listener`.

    Messages that do not mention the bot arrive only where the app has the permission.
    """

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._withdrawals = MessageWithdrawals(context)
        self.deleted = DeletedMessages(context)

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)

    async def _take(self, body: Body) -> bool:
        said = self.heard(body)
        if said is None or not await should_take(self._context.listening, said):
            return False
        await self.accept(said.message)
        return True

    def heard(self, body: Body) -> ReceivedMessage | None:
        """Return the message in an activity, or None (`parse_message`)."""
        return parse_message(body, tenant=self._context.tenant, received_at=datetime.now(UTC))

    async def accept(self, message: Message) -> None:
        """Store a message to be answered, unless it was deleted before it arrived."""
        await self._context.inbox.accept(message)
        if await self.deleted.has(message):
            await self._withdrawals.withdraw(message)
