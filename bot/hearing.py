"""Which messages that nobody addressed to the bot are taken: as the channel's policy says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from bot.ports import Policies
from bot.types import Interaction, Message, Thread

_LOOKED_AT = 10
_LONGEST = 1_000
_ASKING = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could|may"
    r"|should|would|will|has|have|anyone|anybody|does anyone"
    r"|wer|wen|wem|was|welche[rsn]?|wann|wo|wohin|warum|wieso|wie|ist|sind|kann|darf|gibt|hat)\b",
    re.IGNORECASE,
)


class Exchanges(Protocol):
    """The record of what was asked and answered. Raises bot.errors.StoreUnavailable."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class Hearing:
    """Implements bot.office.Hears. Nothing is heard where no policy says so.

    What is taken here is kept in the record, so that ordinary talk is left alone: a message that
    begins a thread counts only if it reads like a question, one below it only in a thread in which
    the bot has spoken.
    """

    def __init__(self, policies: Policies, exchanges: Exchanges) -> None:
        self._policies = policies
        self._exchanges = exchanges

    async def hears(self, message: Message, *, begins: bool) -> bool:
        thread = message.thread
        policy = await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")
        if policy is None or policy.answers == "off" or len(message.text) > _LONGEST:
            return False
        if begins:
            return policy.answers == "questions" and reads_like_a_question(message.text)
        return policy.follow_ups and await self._has_spoken(thread)

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        policy = await self._policies.of(tenant, channel)
        return policy is not None and policy.other_bots

    async def _has_spoken(self, thread: Thread) -> bool:
        last = await self._exchanges.in_thread(thread, _LOOKED_AT)
        return any(each.outcome is None or not each.outcome.silent for each in last)


def reads_like_a_question(text: str) -> bool:
    """Tell whether a text asks something, by its form alone; English and German."""
    said = text.strip()
    return "?" in said or _ASKING.match(said) is not None
