"""Decide which messages the bot takes, and apply their edits, deletions and later mentions.

The channel's policy says what is taken of messages that nobody addressed to the bot; by its form
alone a text reads like a question, in English and German.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol
from weakref import WeakValueDictionary

from bot.chat.adapters import ChatContext, HearsMessages
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.messages import Message, Thread
from bot.domain.ports import Policies


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """What somebody wrote. ``begins``: it is the first of its thread. ``by_bot``: another bot."""

    message: Message
    begins: bool
    by_bot: bool


async def should_take(hearing: HearsMessages, said: ReceivedMessage) -> bool:
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


_THREAD_LOOK_BACK = 10
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
    """The record of what was asked and answered. Raises bot.domain.errors.StoreUnavailable."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class ListeningPolicy:
    """Implements bot.chat.adapters.HearsMessages. Nothing is heard where no policy says so.

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
        last = await self._exchanges.in_thread(thread, _THREAD_LOOK_BACK)
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


async def as_new_question(office: ChatContext, message: Message) -> Message:
    """Return the message as it is to be accepted, now that somebody addresses the bot with it.

    What was overheard is recorded under the message's own id, and an id is answered once; so one
    that nobody was told anything about gets another. Raises StoreUnavailable.
    """
    kept = await office.interactions.get(message.interaction_id)
    if kept is None or kept.outcome is None or not kept.outcome.silent:
        return message
    return replace(message, id=f"{message.id}:asked")


class MessageEdits:
    """Amends questions; an edit that is older than the last one changes no word.

    Platforms send events in any order, and again what they were not answered. When a question was
    edited last is noted, for all processes.
    """

    def __init__(self, office: ChatContext) -> None:
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


_BUTTON_LOOK_BACK = 100


class MessageWithdrawals:
    """Takes questions back. All of it may be done again. Raises StoreUnavailable, BotError."""

    def __init__(self, office: ChatContext) -> None:
        self._office = office

    async def withdraw(self, message: Message) -> bool:
        """Withdraw a question and what was asked by buttons below it, which quotes it.

        Only the message's place counts. Returns False for one that is not known.
        """
        try:
            await self._office.inbox.cancel(message.interaction_id)
        except InteractionUnknown:
            return False
        for each in await self._office.interactions.in_thread(message.thread, _BUTTON_LOOK_BACK):
            if each.message.id.startswith(f"{message.id}:"):
                with suppress(InteractionUnknown):
                    await self._office.inbox.cancel(each.id)
        return True

    async def never_answer(self, message: Message) -> None:
        """Keep a question as withdrawn that was deleted before it was known, if it comes yet."""
        with suppress(InteractionUnknown):
            await self._office.inbox.cancel(await self._office.inbox.accept(message))
