"""Decide which messages are accepted, and apply the edits and deletions of questions.

Whether an unaddressed message is accepted depends on the channel's policy, and on its form: whether
it is a question is guessed in English and German.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from weakref import WeakValueDictionary

from bot.answering.admission import PRACTISING
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Delivery, Interaction
from bot.domain.messages import Message, Policy, Refusal, Thread
from bot.domain.outcomes import as_kept, refused_outcome
from bot.domain.ports import Inbox, Interactions, Notes, Policies
from bot.domain.texts import ENGLISH, Language, tr


async def as_new_question(interactions: Interactions, message: Message) -> Message:
    """Return the message to accept when the bot is mentioned after it ignored the message.

    The ignored message was recorded under the message's own id, and an id is answered once; so one
    with a silent outcome gets a new id, unless reviewers saw a draft. Raises StoreUnavailable.
    """
    kept = await interactions.get(message.interaction_id)
    if kept is None or kept.outcome is None or not kept.outcome.silent or kept.message.shadow:
        return message
    return replace(message, id=f"{message.id}:asked")


class MessageEdits:
    """Apply edits of questions; an edit older than the last one does not change the text.

    Platforms send events in any order, and resend unacknowledged ones. The time of a question's
    last edit is stored in a note, for all processes.
    """

    def __init__(self, inbox: Inbox, interactions: Interactions, notes: Notes) -> None:
        self._inbox = inbox
        self._interactions = interactions
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def amend(self, message: Message, at: str) -> None:
        """Apply the text of a question as of ``at``; new files are added even by an older edit.

        ``at`` is in seconds, as a decimal number; "" if unknown, which counts as the newest. Only
        the asker can edit a question. Raises StoreUnavailable.
        """
        turn = self._turns.setdefault(message.interaction_id, asyncio.Lock())
        async with turn:
            kept = await self._interactions.get(message.interaction_id)
            if kept is None or not at:
                await self._inbox.amend(message)
            elif kept.message.author.id == message.author.id:
                await self._newest(message, at, kept)

    async def _newest(self, message: Message, at: str, kept: Interaction) -> None:
        notes, tenant = self._notes, message.thread.tenant
        key = f"{message.thread.platform}:edited:{kept.id}"
        last = await notes.get(tenant, key)
        if last is None or Decimal(last) < Decimal(at):
            await self._inbox.amend(message)
            await notes.put(tenant, key, at, interaction_id=kept.id)
        elif message.attachments and not kept.message.attachments:
            await self._inbox.amend(replace(message, text=kept.message.text))


_BUTTON_LOOK_BACK = 100


class MessageWithdrawals:
    """Withdraw deleted questions; every step is idempotent. Raises StoreUnavailable, BotError."""

    def __init__(self, inbox: Inbox, interactions: Interactions) -> None:
        self._inbox = inbox
        self._interactions = interactions

    async def withdraw(self, message: Message) -> bool:
        """Withdraw a question and the button questions below it, which quote it.

        Only the message's thread and id are used. Returns False if it is not recorded.
        """
        try:
            await self._inbox.cancel(message.interaction_id)
        except InteractionUnknown:
            return False
        for each in await self._interactions.in_thread(message.thread, _BUTTON_LOOK_BACK):
            if each.message.id.startswith(f"{message.id}:"):
                with suppress(InteractionUnknown):
                    await self._inbox.cancel(each.id)
        return True

    async def never_answer(self, message: Message) -> None:
        """Record as withdrawn a question deleted before it arrived, in case it still comes."""
        with suppress(InteractionUnknown):
            await self._inbox.cancel(await self._inbox.accept(message))


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A received message. ``begins``: it is the first of its thread. ``by_bot``: a bot wrote it."""

    message: Message
    begins: bool
    by_bot: bool


def is_said_in_thread(received: ReceivedMessage) -> bool:
    """Return whether a person wrote it below another message of a channel."""
    return not (received.begins or received.by_bot or received.message.private)


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

    ``language`` is that in which messages are suggested. Raises StoreUnavailable. Accepted messages
    are recorded, so ordinary talk is left out: a message that begins a thread must look like a
    question, and a reply counts only in a thread in which the bot has spoken.
    """

    def __init__(
        self, policies: Policies, interactions: Interactions, language: Language = ENGLISH
    ) -> None:
        self._policies = policies
        self._interactions = interactions
        self._language = language

    async def hears(self, message: Message, *, begins: bool) -> bool:
        """Return whether to accept a message; ``begins``: it is the first of its thread."""
        thread = message.thread
        if len(message.text) > _LONGEST or (begins and not reads_like_a_question(message.text)):
            return False
        policy = await self._policy(thread)
        if policy is None or policy.answers == "off":
            return False
        if begins or policy.answers == "shadow":
            return begins and policy.answers in {"questions", "shadow"}
        return policy.follow_ups and await self._has_spoken(thread)

    async def marked(self, message: Message) -> Message:
        """Return a message as it is kept, marked if the bot only practises in its channel."""
        message = replace(message, text=as_kept(message.text, self._language))
        if message.private:
            return message
        policy = await self._policy(message.thread)
        return replace(message, shadow=policy is not None and policy.answers == "shadow")

    async def _policy(self, thread: Thread) -> Policy | None:
        return await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")

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


async def is_told_of_practice(notes: Notes, message: Message) -> bool:
    """Return whether to tell an asker that the bot only practises: once in a channel.

    Raises StoreUnavailable.
    """
    if not message.shadow or message.overheard or message.by_bot:
        return False
    thread = message.thread
    key = f"{thread.platform}:practising:{thread.channel}:{message.author.id}"
    return await notes.first(thread.tenant, key)


def practice_notice(message: Message) -> Delivery:
    """Return what tells an asker alone that the bot only practises in the channel."""
    notice = refused_outcome(
        replace(message, shadow=False), Refusal(PRACTISING, "channel_shadow", ephemeral=True)
    )
    return Delivery(f"{message.interaction_id}:practice", message.interaction_id, message, notice)


STOPPED = tr("Stopped. Your question will not be answered.")


def stop_notice(message: Message) -> Delivery:
    """Return what confirms to an asker that their question was stopped."""
    notice = refused_outcome(message, Refusal(STOPPED, "stopped", ephemeral=True))
    return Delivery(f"{message.interaction_id}:stopped", message.interaction_id, message, notice)


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
