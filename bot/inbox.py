"""The inbox inside one process: messages are kept in the record, the queue is in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

import structlog

from bot.answering import Answering
from bot.audit import Audit
from bot.delivery import Deliverer
from bot.errors import (
    BotError,
    InboxFull,
    InboxUnavailable,
    InteractionUnknown,
    StoreUnavailable,
)
from bot.lanes import Lanes, wait_or_cancel
from bot.outcomes import unavailable, unfinished
from bot.ports import Admits, AnswersInquiries, Interactions
from bot.store.codec import whole
from bot.types import Interaction, InteractionId, Message, Outcome, Stage

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done at once, how much may be under way, and how long anything may take.

    ``waiting`` counts all that is accepted and not finished.
    """

    concurrency: int = 8
    waiting: int = 1000
    deadline_seconds: float = 120.0
    drain_seconds: float = 25.0


@dataclass(slots=True)
class Entry:
    """A message on its way; ``revision`` counts its edits, ``result`` is what waiters get."""

    id: InteractionId
    resumed: bool
    result: asyncio.Future[Outcome | BotError]
    revision: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    work: asyncio.Task[None] | None = None


class InProcessInbox:
    """Implements bot.ports.Inbox without an engine.

    What was accepted survives a crash, because it is in the record; ``start`` resumes it. Messages
    of one thread are worked on one after the other, threads at the same time.
    """

    def __init__(
        self,
        *,
        interactions: Interactions,
        admission: Admits,
        desk: AnswersInquiries,
        deliver: Deliverer,
        limits: Limits,
        log_questions: bool = True,
    ) -> None:
        self._interactions = interactions
        self._answering = Answering(admission, desk, deadline_seconds=limits.deadline_seconds)
        self._deliver = deliver
        self._limits = limits
        self._audit = Audit(log_questions=log_questions)
        self._lanes = Lanes(limits.concurrency)
        self._entries: dict[InteractionId, Entry] = {}
        self._opening = 0
        self._closed = False

    async def start(self) -> None:
        """Take up what an earlier process left; the limit on waiting messages does not apply."""
        for interaction in await self._interactions.unfinished():
            if interaction.id not in self._entries:
                self._enqueue(interaction, resumed=True)

    async def close(self) -> None:
        """Take no more, finish what runs; what is not done in time is resumed at the next start."""
        self._closed = True
        await self._lanes.drain(self._limits.drain_seconds)
        for entry in list(self._entries.values()):
            self._leave(entry, _stopped(entry.id))

    async def accept(self, message: Message) -> InteractionId:
        if message.interaction_id not in self._entries:
            async with self._room(message):
                interaction = await self._open(message)
                if self._closed:
                    raise _stopped(interaction.id)
                if unfinished(interaction) and interaction.id not in self._entries:
                    self._enqueue(interaction, resumed=interaction.outcome is not None)
        return message.interaction_id

    async def amend(self, message: Message) -> None:
        message = replace(message, text=whole(message.text))
        entry = self._entries.get(message.interaction_id)
        if entry is None:
            await self._interactions.amend(message)
            return
        async with entry.lock:
            if await self._interactions.amend(message):
                entry.revision += 1

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Stop the work and forget the texts. Raises InteractionUnknown."""
        await self._interactions.cancel(interaction_id)
        entry = self._entries.get(interaction_id)
        if entry is not None:
            self._leave(entry, _cancelled(interaction_id))
            if entry.work is not None:
                entry.work.cancel()
                await asyncio.wait([entry.work])
        interaction = await self._interactions.get(interaction_id)
        if interaction is not None:
            await self._deliver.withdraw(interaction.message, interaction.posted)

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        """Wait for an outcome. Raises InteractionUnknown, InboxUnavailable."""
        entry = self._entries.get(interaction_id)
        if entry is None:
            return await self._recorded(interaction_id)
        result = await asyncio.shield(entry.result)
        if isinstance(result, BotError):
            raise result
        return result

    @asynccontextmanager
    async def _room(self, message: Message) -> AsyncIterator[None]:
        """Hold a place in the queue while a message is being recorded."""
        if self._closed:
            raise _stopped(message.interaction_id)
        if len(self._entries) + self._opening >= self._limits.waiting:
            raise InboxFull(f"{self._limits.waiting} questions are waiting. Ask again in a minute.")
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1

    async def _open(self, message: Message) -> Interaction:
        try:
            return await self._interactions.open(replace(message, text=whole(message.text)))
        except StoreUnavailable as error:
            raise InboxUnavailable(
                f"Message {message.key!r} could not be kept: {error} Send it again."
            ) from error

    async def _recorded(self, interaction_id: InteractionId) -> Outcome:
        interaction = await self._interactions.get(interaction_id)
        if interaction is None:
            raise InteractionUnknown(f"There is no interaction {interaction_id!r}. Ask first.")
        if interaction.outcome is not None:
            return interaction.outcome
        if interaction.status == "cancelled":
            raise _cancelled(interaction_id)
        if interaction.status == "failed":
            return unavailable(interaction.message, "The work on it was given up.")
        raise _stopped(interaction_id)

    def _enqueue(self, interaction: Interaction, *, resumed: bool) -> None:
        result = asyncio.get_running_loop().create_future()
        entry = Entry(interaction.id, resumed, result)
        self._entries[entry.id] = entry

        async def turn() -> None:
            await self._take(entry)

        self._lanes.add(interaction.message.thread.key, turn)

    async def _take(self, entry: Entry) -> None:
        if entry.id in self._entries:
            entry.work = asyncio.create_task(self._run(entry))
            await wait_or_cancel(entry.work)
            self._leave(entry, _stopped(entry.id))

    async def _run(self, entry: Entry) -> None:
        try:
            interaction = await self._interactions.get(entry.id)
            if interaction is None or not unfinished(interaction):
                # Another process may have finished it; those who wait here get its outcome.
                if interaction is not None and interaction.outcome is not None:
                    _settle(entry, interaction.outcome)
                return
            message, outcome = interaction.message, interaction.outcome
            if outcome is None:
                message, outcome = await self._answer(entry, message)
            _settle(entry, outcome)
            async with self._deliver.progress(message) as report:
                await report(Stage.DONE)
            await self._deliver.deliver(message, outcome, again=entry.resumed)
        except Exception:
            log.exception("inbox.failed", interaction_id=entry.id)

    async def _answer(self, entry: Entry, message: Message) -> tuple[Message, Outcome]:
        """Work until the question was not edited meanwhile, and record the outcome."""
        started = perf_counter()
        while True:
            revision = entry.revision
            async with self._deliver.progress(message) as report:
                await report(Stage.RECEIVED)
                outcome = await self._answering.answer(message, report)
            async with entry.lock:
                if entry.revision == revision:
                    await self._interactions.close(entry.id, outcome)
                    break
            message = await self._edited(message)
        self._audit.answered(message, outcome, (perf_counter() - started) * 1000)
        return message, outcome

    async def _edited(self, message: Message) -> Message:
        interaction = await self._interactions.get(message.interaction_id)
        return message if interaction is None else interaction.message

    def _leave(self, entry: Entry, result: BotError) -> None:
        self._entries.pop(entry.id, None)
        _settle(entry, result)


def _settle(entry: Entry, result: Outcome | BotError) -> None:
    if not entry.result.done():
        entry.result.set_result(result)


def _stopped(interaction_id: InteractionId) -> InboxUnavailable:
    return InboxUnavailable(
        f"Interaction {interaction_id!r} is kept but not being worked on now; it is taken up at "
        "the next start. Ask for it again then."
    )


def _cancelled(interaction_id: InteractionId) -> InteractionUnknown:
    return InteractionUnknown(
        f"Interaction {interaction_id!r} was cancelled by its asker. Ask the question anew."
    )
