"""A question that was overheard and left alone, and is then put to the bot: asked once more."""

from __future__ import annotations

from dataclasses import replace

from bot.office import Office
from bot.types import Message


async def addressed(office: Office, message: Message) -> Message:
    """Return the message as it is to be accepted, now that somebody addresses the bot with it.

    What was overheard is recorded under the message's own id, and an id is answered once; so one
    that nobody was told anything about gets another. Raises StoreUnavailable.
    """
    kept = await office.interactions.get(message.interaction_id)
    if kept is None or kept.outcome is None or not kept.outcome.silent:
        return message
    return replace(message, id=f"{message.id}:asked")
