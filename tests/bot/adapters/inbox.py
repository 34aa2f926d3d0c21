"""An inbox that only keeps what it is given, or refuses it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Outcome
from bot.domain.messages import InteractionId, Message


class KeepingInbox:
    """Keeps messages by id; ``error`` is raised instead, ``delay`` is waited before."""

    def __init__(self) -> None:
        self.messages: dict[InteractionId, Message] = {}
        self.cancelled: list[InteractionId] = []
        self.accepted = 0
        self.error: Exception | None = None
        self.delay = 0.0

    @property
    def only(self) -> Message:
        (message,) = self.messages.values()
        return message

    async def accept(self, message: Message) -> InteractionId:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        self.accepted += 1
        if message.interaction_id in self.cancelled:
            return message.interaction_id
        self.messages.setdefault(message.interaction_id, message)
        return message.interaction_id

    async def amend(self, message: Message) -> None:
        kept = self.messages.get(message.interaction_id)
        if kept is not None:
            files = message.attachments or kept.attachments
            self.messages[message.interaction_id] = replace(
                kept, text=message.text, attachments=files
            )

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Forget a message; it is not kept again when it is sent again."""
        if interaction_id not in self.messages:
            raise InteractionUnknown(f"There is no interaction {interaction_id!r}. Ask first.")
        del self.messages[interaction_id]
        self.cancelled.append(interaction_id)

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        raise NotImplementedError(interaction_id)
