"""What somebody wrote, as an adapter understood it, and whether it is for the bot."""

from __future__ import annotations

from dataclasses import dataclass

from bot.office import Hears
from bot.types import Message


@dataclass(frozen=True, slots=True)
class Heard:
    """What somebody wrote. ``begins``: it is the first of its thread. ``by_bot``: another bot."""

    message: Message
    begins: bool
    by_bot: bool


async def is_for_us(hearing: Hears, said: Heard) -> bool:
    """Tell whether to take what was written, as the channel's policy says.

    Another bot is heard only if it addresses this one, where that is allowed: two bots that
    overhear each other would never end. Raises StoreUnavailable.
    """
    message = said.message
    if message.overheard:
        return not said.by_bot and await hearing.hears(message, begins=said.begins)
    if said.by_bot:
        thread = message.thread
        return await hearing.hears_bots(thread.tenant, f"{thread.platform}:{thread.channel}")
    return True
