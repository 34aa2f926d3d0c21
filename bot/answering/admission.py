"""Admit a message: build its inquiry from the thread's history, the asker and the audience.

The results of admission are added to the outcome at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

from bot.answering.asker_identity import AskerIdentification, IdentifiedAsker, Reader
from bot.answering.attachments import AttachmentReader, ReadAttachments
from bot.answering.limits import LimitChecks
from bot.answering.visibility import (
    ReadablePassages,
    RecordedPassage,
    Visibility,
    offered_before,
    passages_behind,
    visibility_of,
)
from bot.domain.cases import USE_REPLY, is_card_thread
from bot.domain.handoff import (
    ASKED_ALREADY,
    THREAD_MESSAGES_CHECKED,
    asked_already,
    asks_topic,
    is_person_request,
)
from bot.domain.interactions import Clarification, Escalation, Interaction, Outcome, Reply
from bot.domain.messages import (
    NO_MODEL,
    Audience,
    FoundPassage,
    Inquiry,
    Intent,
    Message,
    Person,
    Policy,
    Refusal,
    edited_id,
)
from bot.domain.outcomes import DRAFTED
from bot.domain.ports import Directory, Interactions, Notes, Policies
from rag.types import ANSWERS_SPACE, EVERYONE, Principal, Turn

HISTORY_EXCHANGES = 3
"""Earlier exchanges in the history: a question and its answer each, six turns together."""

_MOST_HISTORY_PASSAGES = 100
"""Limit on the passages behind a history; the earliest exchanges are dropped beyond it.

Each generic reply inherits the passages of the one before, so they grow for as long as a chat does.
"""
_JUST_BEFORE = timedelta(minutes=10)
"""A question for a topic that was asked elsewhere in a direct conversation is open for so long."""
_TOPIC_WINDOW = timedelta(hours=1)
"""How long a later message counts as the topic that the bot asked for: a chat thread never ends."""

PRACTISING = (
    "I'm only practising in this channel, so I don't answer here yet. Write to me directly, or ask "
    "a colleague."
)
_TURNED_OFF = "I'm turned off here. Please ask me somewhere else, or ask your help desk directly."

_CLOSED_ANSWER = "(left out: the page behind this answer is no longer open to its readers)"


class Admission:
    """Build the inquiry for a message, or refuse it. Implements ``Admits``.

    The audience bounds the search: in a channel only pages open to everyone are searched.

    Args:
        interactions: The record of earlier exchanges of a thread.
        directory: Resolves a person's principals.
        policy: The default policy; a channel's own narrows it further.
        policies: The channels' own policies.
        introductions: Identifies the asker on platforms that know more than the message says.
        reading: Reads the files attached to messages; None reads no file.
        readable: Checks which passages may be read now; None leaves earlier answers from pages
            out of the history.
        limits: Checks pause, rates and budgets; None limits nothing.
        notes: Stores which threads belong to escalation cards; None treats no thread as one.
    """

    def __init__(
        self,
        interactions: Interactions,
        directory: Directory,
        policy: Policy,
        policies: Policies,
        *,
        introductions: AskerIdentification | None = None,
        reading: AttachmentReader | None = None,
        readable: ReadablePassages | None = None,
        notes: Notes | None = None,
        limits: LimitChecks | None = None,
    ) -> None:
        self._interactions = interactions
        self._directory = directory
        self._policy = policy
        self._policies = policies
        self._introductions = introductions
        self._reading = reading
        self._readable = readable
        self._notes = notes
        self._limits = limits

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry for a message, or a refusal with the text for the asker.

        Raises AskerUnknown, StoreUnavailable.
        """
        if self._limits is None:
            return await self._admit(message)
        arrival = await self._limits.check_message(message)
        if isinstance(arrival, Refusal):
            return arrival
        admitted = await self._admit(message)
        if isinstance(admitted, Refusal):
            return admitted
        return await self._limits.check_budget(message, admitted, arrival) or admitted

    async def _admit(self, message: Message) -> Inquiry | Refusal:
        thread = message.thread
        if self._notes is not None and await is_card_thread(self._notes, thread):
            return Refusal(USE_REPLY, "card_thread", ephemeral=True)
        own = await self._policies.of(thread.tenant, f"{thread.platform}:{thread.channel}")
        policy = self._policy if own is None else policy_within(own, self._policy.spaces)
        if policy.answers == "off":
            return Refusal(_TURNED_OFF, "channel_off")
        if policy.answers == "shadow" and not (message.private or message.shadow):
            # A command, which only its asker sees, or the mode has just been changed.
            return Refusal(PRACTISING, "channel_shadow", ephemeral=True)
        introduced: IdentifiedAsker | Refusal = IdentifiedAsker(message.author)
        if self._introductions is not None:
            introduced = await self._introductions.of(message)
        if isinstance(introduced, Refusal):
            return introduced
        if await self._is_repeated(message):
            return Refusal(ASKED_ALREADY, "asked_already")
        known = replace(message, author=await self._with_principals(message, introduced))
        read = ReadAttachments()
        if self._reading is not None and message.attachments:
            read = await self._reading.read(message)
        audience = audience_of(known)
        talk = await self._talk(known, Reader(audience.principals, introduced.spaces))
        return Inquiry(
            message=known,
            history=talk.turns,
            heard=talk.heard,
            offered=talk.offered,
            audience=audience,
            policy=_with_model(policy_within(policy, introduced.spaces), message.model),
            attached=read.attached,
            remarks=read.remarks,
            notes=introduced.notes,
            asker=introduced.recorded,
            outsiders=introduced.spaces is not None,
        )

    async def _talk(self, message: Message, reader: Reader) -> _History:
        """Return the thread's history as far as every reader of the reply may read it now."""
        tenant = message.thread.tenant
        before = await self._interactions.history(message.thread, message, HISTORY_EXCHANGES)
        before = _current(before, message) or await self._asked_topic(message)
        before = _bounded(before)
        named = list(chain.from_iterable(map(passages_behind, before)))
        seen = Visibility(blind=True)
        if self._readable is not None:
            seen = await visibility_of(self._readable, tenant, named, reader)
        told = [each for each in before if seen.tells(each)]
        return _History(
            _readable_turns(before, message.author.id, seen),
            history_passages(told),
            _distinct(offered_before(before, message)),
        )

    async def _asked_topic(self, message: Message) -> Sequence[Interaction]:
        """Return the asker's newest exchange if the bot asked in it for the topic of a hand-over.

        Only in direct conversations where every message may start a thread, and only within ten
        minutes; else nothing.
        """
        thread = message.thread
        if not message.private or thread.id != message.id:
            return ()
        place = thread.tenant, thread.platform, thread.channel
        last = await self._interactions.newest_of(*place, message.author.id)
        if last is None or not _asks_topic(last):
            return ()
        age = message.received_at - last.message.received_at
        recent = timedelta(0) <= age <= _JUST_BEFORE
        return (last,) if recent and not last.withdrawn else ()

    async def _is_repeated(self, message: Message) -> bool:
        """Return whether a press of the "ask a person" button repeats a request made meanwhile."""
        if not is_person_request(message):
            return False
        there = await self._interactions.in_thread(message.thread, THREAD_MESSAGES_CHECKED)
        before = [each for each in there if each.id != message.interaction_id]
        return asked_already(message, before)

    async def _with_principals(self, message: Message, introduced: IdentifiedAsker) -> Person:
        author = introduced.author
        if not introduced.open:
            return author
        principals = await self._directory.principals(message.thread.tenant, author)
        return replace(author, principals=principals)


@dataclass(frozen=True, slots=True)
class _History:
    """The earlier turns of a thread, and the passages that they rest on.

    ``offered`` are those of the option that the message repeats, whoever may read them.
    """

    turns: tuple[Turn, ...]
    heard: tuple[FoundPassage, ...]
    offered: tuple[FoundPassage, ...]


def _current(exchanges: Sequence[Interaction], message: Message) -> Sequence[Interaction]:
    """Drop the bot's questions for a topic that are old, and the question that this one replaces.

    The former are those older than ``_TOPIC_WINDOW``.
    """
    since = message.received_at - _TOPIC_WINDOW
    return [
        each
        for each in exchanges
        if (each.message.received_at > since or not _asks_topic(each))
        and edited_id(each.message) != message.id
    ]


def _asks_topic(said: Interaction) -> bool:
    return said.outcome is not None and asks_topic(said.outcome.response.text)


def _bounded(exchanges: Sequence[Interaction]) -> Sequence[Interaction]:
    """Return the newest exchanges that rest on at most ``_MOST_HISTORY_PASSAGES`` passages."""
    kept = list(exchanges)
    while kept and len(history_passages(kept)) > _MOST_HISTORY_PASSAGES:
        del kept[0]
    return kept


def history_passages(exchanges: Sequence[Interaction]) -> tuple[FoundPassage, ...]:
    """Return the distinct passages behind some exchanges, without signals."""
    return _distinct(chain.from_iterable(map(passages_behind, exchanges)))


def _distinct(found: Iterable[RecordedPassage]) -> tuple[FoundPassage, ...]:
    named = {each.chunk_id: each for each in found}
    return tuple(
        FoundPassage(each.chunk_id, each.page_id, each.title, each.section, {})
        for each in named.values()
    )


def served_policy(spaces: frozenset[str] | None) -> Policy:
    """Return the policy of channels without one: all served spaces, and reviewed answers."""
    return Policy(spaces=None if spaces is None else spaces | {ANSWERS_SPACE})


def policy_within(policy: Policy, spaces: frozenset[str] | None) -> Policy:
    """Return a policy limited to some spaces; None adds no limit."""
    if spaces is None:
        return policy
    return replace(policy, spaces=spaces if policy.spaces is None else policy.spaces & spaces)


def _with_model(policy: Policy, named: str) -> Policy:
    """Return a policy with the model that a message names; a channel without a model keeps none."""
    return replace(policy, model=named) if named and policy.model != NO_MODEL else policy


def audience_of(message: Message) -> Audience:
    """Return the readers of the reply: the asker alone, or everyone in a channel."""
    if message.private:
        return Audience("private", message.author.principals | {EVERYONE})
    return Audience("channel", frozenset({EVERYONE}))


def with_admission_results(inquiry: Inquiry, outcome: Outcome) -> Outcome:
    """Add the results of admission; silence the reply to an overheard message unless it is sure.

    Where the bot only practises, every reply is silenced, and noted if it would have been given.
    """
    message = inquiry.message
    worth = not message.overheard or _is_worth_an_unasked_reply(inquiry, outcome)
    drafted = (DRAFTED,) if message.shadow and worth and _is_from_pages(outcome) else ()
    trace = replace(
        outcome.trace,
        notes=(*inquiry.notes, *outcome.trace.notes, *drafted),
        heard=_with_offered(inquiry, outcome.trace.heard),
    )
    return replace(
        outcome,
        trace=trace,
        remarks=(*outcome.remarks, *inquiry.remarks),
        asker=inquiry.asker,
        silent=message.shadow or not worth,
        private=None if message.shows_nothing else outcome.private,
    )


def _with_offered(
    inquiry: Inquiry, heard: tuple[FoundPassage, ...] | None
) -> tuple[FoundPassage, ...] | None:
    """Add the passages of a chosen option: its words are the page's, found again or not."""
    return None if heard is None else _distinct((*heard, *inquiry.offered))


def _is_from_pages(outcome: Outcome) -> bool:
    response = outcome.response
    return isinstance(response, Reply) and bool(response.sources) and not response.refused


def _is_worth_an_unasked_reply(inquiry: Inquiry, outcome: Outcome) -> bool:
    """Return whether to reply unasked: a sure answer with sources, or a request for a person.

    The latter, or a clarification of its topic, counts only in a thread with earlier turns.
    """
    match outcome.response:
        case Reply(confidence_level="sure", refused=False, sources=sources):
            return bool(sources)
        case Escalation(reason="asked_for_human"):
            return bool(inquiry.history)
        case Clarification():
            # The user asked for a person, and the bot asks back for the topic.
            return outcome.trace.route.intent is Intent.HUMAN and bool(inquiry.history)
        case _:
            return False


class VouchedDirectory:
    """Resolve principals from what the platform adapter verified. Implements ``Directory``.

    A person without verified principals has ``everyone`` alone.
    """

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:  # noqa: ARG002 - the port names it
        return person.principals | {EVERYONE}


def _readable_turns(
    exchanges: Sequence[Interaction], asker_id: str, seen: Visibility
) -> tuple[Turn, ...]:
    """Return a thread's turns, oldest first, as far as the readers of the reply may read them now.

    An answer based on a page that they may no longer read is replaced by a placeholder. An exchange
    whose question only names such a page (one that was offered and chosen) is left out.
    """
    return tuple(
        turn
        for each in exchanges
        if each.outcome is not None and (asked := seen.asked(each)) is not None
        for turn in _exchange_turns(
            each,
            asked,
            each.outcome.response.text if seen.tells(each) else _CLOSED_ANSWER,
            own=each.message.author.id == asker_id,
        )
    )


def _exchange_turns(
    interaction: Interaction, asked: str, answered: str, *, own: bool
) -> tuple[Turn, Turn]:
    return (
        Turn("user", asked, interaction.id, own=own),
        Turn("assistant", answered, interaction.id, own=own),
    )
