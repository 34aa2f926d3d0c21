"""Edits of a question in the order in which they were made, however a platform sends them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from weakref import WeakValueDictionary

from bot.office import Office
from bot.types import Interaction, Message


class Edits:
    """Amends questions; an edit that is older than the last one changes no word.

    Platforms send events in any order, and again what they were not answered. When a question was
    edited last is noted, for all processes.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def amend(self, message: Message, at: str) -> None:
        """Take a question as it read at ``at``; files come along in any case.

        ``at`` is in seconds, as a decimal number; "" where that is not known: then it is the
        newest. Only who asked edits a question. Raises StoreUnavailable.
        """
        turn = self._turns.setdefault(message.interaction_id, asyncio.Lock())
        async with turn:
            kept = await self._office.interactions.get(message.interaction_id)
            if kept is None or not at:
                await self._office.inbox.amend(message)
            elif kept.message.author.id == message.author.id:
                await self._newest(message, at, kept)

    async def _newest(self, message: Message, at: str, kept: Interaction) -> None:
        notes, tenant = self._office.notes, self._office.tenant
        key = f"{message.thread.platform}:edited:{kept.id}"
        last = await notes.get(tenant, key)
        if last is None or Decimal(last) < Decimal(at):
            await self._office.inbox.amend(message)
            await notes.put(tenant, key, at, interaction_id=kept.id)
        elif message.attachments and not kept.message.attachments:
            await self._office.inbox.amend(replace(message, text=kept.message.text))
