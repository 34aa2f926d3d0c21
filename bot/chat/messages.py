"""Apply edits, deletions and later mentions of questions."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from weakref import WeakValueDictionary

from bot.chat.adapters import ChatContext
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.messages import Message


async def as_new_question(context: ChatContext, message: Message) -> Message:
    """Return the message to accept when the bot is mentioned after it ignored the message.

    The ignored message was recorded under the message's own id, and an id is answered once; so one
    with a silent outcome gets a new id. Raises StoreUnavailable.
    """
    kept = await context.interactions.get(message.interaction_id)
    if kept is None or kept.outcome is None or not kept.outcome.silent:
        return message
    return replace(message, id=f"{message.id}:asked")


class MessageEdits:
    """Apply edits of questions; an edit older than the last one does not change the text.

    Platforms send events in any order, and resend unacknowledged ones. The time of a question's
    last edit is stored in a note, for all processes.
    """

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def amend(self, message: Message, at: str) -> None:
        """Apply the text of a question as of ``at``; new files are added even by an older edit.

        ``at`` is in seconds, as a decimal number; "" if unknown, which counts as the newest. Only
        the asker can edit a question. Raises StoreUnavailable.
        """
        turn = self._turns.setdefault(message.interaction_id, asyncio.Lock())
        async with turn:
            kept = await self._context.interactions.get(message.interaction_id)
            if kept is None or not at:
                await self._context.inbox.amend(message)
            elif kept.message.author.id == message.author.id:
                await self._newest(message, at, kept)

    async def _newest(self, message: Message, at: str, kept: Interaction) -> None:
        notes, tenant = self._context.notes, self._context.tenant
        key = f"{message.thread.platform}:edited:{kept.id}"
        last = await notes.get(tenant, key)
        if last is None or Decimal(last) < Decimal(at):
            await self._context.inbox.amend(message)
            await notes.put(tenant, key, at, interaction_id=kept.id)
        elif message.attachments and not kept.message.attachments:
            await self._context.inbox.amend(replace(message, text=kept.message.text))


_BUTTON_LOOK_BACK = 100


class MessageWithdrawals:
    """Withdraw deleted questions; every step is idempotent. Raises StoreUnavailable, BotError."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    async def withdraw(self, message: Message) -> bool:
        """Withdraw a question and the button questions below it, which quote it.

        Only the message's thread and id are used. Returns False if it is not recorded.
        """
        try:
            await self._context.inbox.cancel(message.interaction_id)
        except InteractionUnknown:
            return False
        for each in await self._context.interactions.in_thread(message.thread, _BUTTON_LOOK_BACK):
            if each.message.id.startswith(f"{message.id}:"):
                with suppress(InteractionUnknown):
                    await self._context.inbox.cancel(each.id)
        return True

    async def never_answer(self, message: Message) -> None:
        """Record as withdrawn a question deleted before it arrived, in case it still comes."""
        with suppress(InteractionUnknown):
            await self._context.inbox.cancel(await self._context.inbox.accept(message))
