"""Decide which messages the bot accepts: by the channel's policy, and by the form of the text.

Whether an unaddressed message is a question is guessed from its form, in English and German.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.interactions import Interaction
from bot.domain.messages import Message, Thread
from bot.domain.ports import Interactions, Policies


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A received message. ``begins``: it is the first of its thread. ``by_bot``: a bot wrote it."""

    message: Message
    begins: bool
    by_bot: bool


_THREAD_LOOK_BACK = 10
_LONGEST = 1_000
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<?\bhttps?://\S+", re.DOTALL)
"""Code and URLs, removed first: a question mark in them asks nothing."""

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
"""Words that may precede a question in its sentence."""
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


class ListeningPolicy:
    """Accepts unaddressed messages by the channel's policy; without a policy, none.

    Raises StoreUnavailable. Accepted messages are recorded, so ordinary talk is left out: a message
    that begins a thread must look like a question, and a reply counts only in a thread in which the
    bot has spoken.
    """

    def __init__(self, policies: Policies, interactions: Interactions) -> None:
        self._policies = policies
        self._interactions = interactions

    async def hears(self, message: Message, *, begins: bool) -> bool:
        """Return whether to accept a message; ``begins``: it is the first of its thread."""
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
        """Return whether other bots may ask in a channel, ``platform:channel``."""
        policy = await self._policies.of(tenant, channel)
        return policy is not None and policy.other_bots

    async def _has_spoken(self, thread: Thread) -> bool:
        last = await self._interactions.in_thread(thread, _THREAD_LOOK_BACK)
        return any(_spoken(each) for each in last)


def _spoken(interaction: Interaction) -> bool:
    """Return whether the bot answered, or was asked to."""
    if interaction.outcome is None:
        return not interaction.message.overheard
    return not interaction.outcome.silent


def reads_like_a_question(text: str) -> bool:
    """Return whether a text looks like a question by its form alone, in English or German."""
    said = _NOT_SAID.sub(" ", text)
    return any(_asks(sentence.strip()) for sentence in _SENTENCE.split(said))


def _asks(sentence: str) -> bool:
    """Return whether a sentence ends or begins like a question; an exclamation must have a "?"."""
    if not any(character.isalpha() for character in sentence):
        return False
    if "?" in sentence:
        return True
    begun = sentence[_greeted(sentence) :]
    return not sentence.endswith("!") and _ASKING.match(begun) is not None


def _greeted(sentence: str) -> int:
    """Return the index at which a sentence begins after a greeting and filler words."""
    greeting = _GREETING.match(sentence)
    start = greeting.end() if greeting else 0
    before = _BEFORE.match(sentence, start)
    return before.end() if before else start


async def should_take(policy: ListeningPolicy, received: ReceivedMessage) -> bool:
    """Return whether to accept a message under the channel's policy.

    Another bot is accepted only if it addresses this one and the policy allows it: two bots that
    answer each other's unaddressed messages would never stop. Raises StoreUnavailable.
    """
    message = received.message
    if message.overheard:
        return not received.by_bot and await policy.hears(message, begins=received.begins)
    if received.by_bot:
        thread = message.thread
        return await policy.hears_bots(thread.tenant, f"{thread.platform}:{thread.channel}")
    return True
