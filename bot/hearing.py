"""Which messages that nobody addressed to the bot are taken: as the channel's policy says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from bot.ports import Policies
from bot.types import Interaction, Message, Thread

_LOOKED_AT = 10
_LONGEST = 1_000
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<?\bhttps?://\S+", re.DOTALL)
"""Code and addresses: a question mark in one asks nothing."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_GREETING = re.compile(
    r"(?:hi|hey|hello|hallo|moin|servus|guten (?:morgen|tag)|good (?:morning|afternoon))\b"
    r"[^,.!?\n]{0,30}[,.!]\s*",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:(?:hi|hey|hello|hallo|moin|sorry|quick|kurze|question|frage|also|und|and|so|but|aber|all"
    r"|team|folks|everyone|everybody|zusammen|leute|there|please|bitte)\b[\s,:!\u2013-]*)+",
    re.IGNORECASE,
)
"""What may stand before a question in its sentence."""
_ASKING = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|anyone|anybody|wondering"
    r"|(?:is|are|was|were|do|does|did|can|could|may|should|would|will|has|have|am)"
    r" (?:i|you|we|he|she|it|they|there|this|that|these|those|the|a|an|any|anyone|anybody|someone"
    r"|somebody|my|our|your)"
    r"|wer|wen|wem|wessen|was|welche[mnrs]?|wann|wo|woher|wohin|warum|weshalb|wieso|wie|wieviel"
    r"|(?:ist|sind|war|hat|haben|habt|kann|k\u00f6nnen|k\u00f6nnte|darf|d\u00fcrfen|muss|m\u00fcssen|soll"
    r"|sollen|gibt|gab|wei\u00df|weiss|wisst|kennt|geht|funktioniert|braucht|wird|werden)"
    r" (?:ich|du|er|sie|es|wir|ihr|man|das|der|die|den|dem|ein|eine|einen|jemand|hier|da|mein"
    r"|meine|unser|unsere|mir|euch|wer))\b",
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
        if len(message.text) > _LONGEST or (begins and not reads_like_a_question(message.text)):
            return False
        policy = await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")
        if policy is None or policy.answers == "off":
            return False
        if begins:
            return policy.answers == "questions"
        return policy.follow_ups and await self._has_spoken(thread)

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        policy = await self._policies.of(tenant, channel)
        return policy is not None and policy.other_bots

    async def _has_spoken(self, thread: Thread) -> bool:
        last = await self._exchanges.in_thread(thread, _LOOKED_AT)
        return any(_spoken(each) for each in last)


def _spoken(interaction: Interaction) -> bool:
    """Whether the bot has said something, or was asked to."""
    if interaction.outcome is None:
        return not interaction.message.overheard
    return not interaction.outcome.silent


def reads_like_a_question(text: str) -> bool:
    """Tell whether a text asks something, by its form alone; English and German."""
    said = _NOT_SAID.sub(" ", text)
    return any(_asks(sentence.strip()) for sentence in _SENTENCE.split(said))


def _asks(sentence: str) -> bool:
    """Whether a sentence ends or begins as questions do; an exclamation only ends."""
    if not any(character.isalpha() for character in sentence):
        return False
    if "?" in sentence:
        return True
    begun = sentence[_greeted(sentence) :]
    return not sentence.endswith("!") and _ASKING.match(begun) is not None


def _greeted(sentence: str) -> int:
    """Return where a sentence begins after a greeting."""
    greeting = _GREETING.match(sentence)
    start = greeting.end() if greeting else 0
    before = _BEFORE.match(sentence, start)
    return before.end() if before else start
