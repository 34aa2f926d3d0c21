"""Track messages in flight: their waiters, their order in a thread, their progress."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import structlog

from bot.domain.errors import BotError, ClaimLost, DeliveryFailed
from bot.domain.interactions import Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, InteractionId, Stage
from bot.domain.ports import Channel, OpensPlaceholders
from bot.inbox.ports import Worklist

GRACE_SECONDS = 15.0  # for the engine to start a run before its entry counts as overdue


@dataclass(slots=True)
class InFlightMessage:
    """The state of one interaction in this process.

    ``opened`` is the interaction just recorded, until the worker takes it. ``full``: the asker gets
    a busy reply. ``due_at`` (monotonic) is when the engine should have run it, at the latest.
    ``kept`` is set when it is in the store, or ``lost`` because it could not be written;
    ``settled`` when it has an outcome or will get none here.
    """

    due_at: float
    opened: Interaction | None = None
    full: bool = False
    lost: bool = False
    outcome: Outcome | None = None
    kept: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class InFlight:
    """The messages in flight of one process."""

    def __init__(self) -> None:
        self._entries: dict[InteractionId, InFlightMessage] = {}
        self._run_locks: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()
        self._sleeping: set[InteractionId] = set()

    def run_lock(self, interaction_id: InteractionId) -> asyncio.Lock:
        """Return the lock of an interaction, so that one run at a time works on it.

        The engine may begin the same work twice, and a claim does not exclude its own process.
        """
        return self._run_locks.setdefault(interaction_id, asyncio.Lock())

    @property
    def busy(self) -> int:
        """The number of unfinished entries; those that wait for a platform do not count."""
        return len(self._entries) - len(self._sleeping)

    def get(self, interaction_id: InteractionId) -> InFlightMessage | None:
        return self._entries.get(interaction_id)

    def enter(self, interaction_id: InteractionId) -> InFlightMessage:
        """Return the entry of an interaction, a new one, which is not due, if there is none."""
        return self._entries.setdefault(interaction_id, InFlightMessage(math.inf))

    def expect(self, interaction_id: InteractionId) -> bool:
        """Note that the engine begins it now; return False if it is not in flight any more."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.due_at = time.monotonic() + GRACE_SECONDS
        return entry is not None

    async def keeps(self, interaction_id: InteractionId) -> bool:
        """Wait until an interaction in flight is stored; return whether there is one."""
        while (entry := self._entries.get(interaction_id)) is not None:
            await entry.kept.wait()
            if not entry.lost:
                return True
        return False

    def wake(self, interaction_id: InteractionId) -> None:
        """Mark an entry as running; it is not overdue until the run ends."""
        self._sleeping.discard(interaction_id)
        self._entries[interaction_id].due_at = math.inf

    def sleep(self, interaction_id: InteractionId, seconds: float) -> None:
        """Mark an entry as waiting for a platform, and set when the engine should run it again.

        Drops its outcome, which is stored: a platform that is away for long would fill the memory.
        """
        entry = self._entries.get(interaction_id)
        if entry is not None:
            self._sleeping.add(interaction_id)
            entry.outcome, entry.due_at = None, time.monotonic() + seconds + GRACE_SECONDS

    def overdue(self, interaction_id: InteractionId) -> bool:
        """Return whether the engine failed to run an entry in time, or there is none."""
        entry = self._entries.get(interaction_id)
        return entry is None or entry.due_at < time.monotonic()

    def overdue_but(self, unfinished: Collection[InteractionId]) -> Sequence[InteractionId]:
        """Return the overdue entries that the store does not list as unfinished."""
        return [each for each in self._entries if self.overdue(each) and each not in unfinished]

    def settle(self, interaction_id: InteractionId, outcome: Outcome) -> None:
        """Set the outcome of a message and wake its waiters."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.outcome = outcome
            entry.settled.set()

    def unsettle(self, interaction_id: InteractionId) -> None:
        """Drop a withdrawn outcome; later callers read the store."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.outcome = None

    def reread(self, interaction_id: InteractionId) -> None:
        """Have the next run read an interaction anew, as it was changed."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.opened = None

    def release(self) -> None:
        """Wake all waiters, so that they read the store; there will be no outcome here."""
        for entry in self._entries.values():
            entry.settled.set()

    def leave(self, interaction_id: InteractionId) -> None:
        """Remove an entry and wake its waiters, so that they read the store."""
        entry = self._entries.pop(interaction_id, None)
        self._sleeping.discard(interaction_id)
        if entry is not None:
            entry.lost = not entry.kept.is_set()
            entry.kept.set()
            entry.settled.set()


_FIRST_POLL_SECONDS = 0.05
_LONGEST_POLL_SECONDS = 1.0
_PATIENCE_SECONDS = 900.0
"""After that an earlier message counts as stuck, and the later one is answered all the same."""


@dataclass(slots=True)
class _ThreadQueue:
    """The numbers of the messages that wait in one thread, in this process."""

    numbers: list[int] = field(default_factory=list)
    moved: asyncio.Condition = field(default_factory=asyncio.Condition)


class ThreadOrder:
    """Orders the messages of a thread: in this process by a queue, across processes by the store.

    Args:
        behind: Returns whether an earlier message of the same thread is unanswered, in any process.
        waits: Entered while a message waits for an earlier one.
    """

    def __init__(
        self,
        behind: Callable[[Interaction], Awaitable[bool]],
        waits: Callable[[InteractionId], AbstractContextManager[None]],
    ) -> None:
        self._behind = behind
        self._waits = waits
        self._lines: dict[str, _ThreadQueue] = {}

    @asynccontextmanager
    async def turn(self, interaction: Interaction) -> AsyncIterator[None]:
        """Wait until a message is the first of its thread, and hold the turn in the block."""
        key, number = interaction.message.thread.key, interaction.number
        line = self._lines.setdefault(key, _ThreadQueue())
        line.numbers.append(number)
        try:
            if number != min(line.numbers) or await self._behind(interaction):
                with self._waits(interaction.id):
                    async with line.moved:
                        await line.moved.wait_for(lambda: number == min(line.numbers))
                    await self._first_anywhere(interaction)
            yield
        finally:
            await self._leave(key, line, number)

    async def _leave(self, key: str, line: _ThreadQueue, number: int) -> None:
        line.numbers.remove(number)
        if not line.numbers:
            self._lines.pop(key, None)
        async with line.moved:
            line.moved.notify_all()

    async def _first_anywhere(self, interaction: Interaction) -> None:
        pause, waited = _FIRST_POLL_SECONDS, 0.0
        while waited < _PATIENCE_SECONDS and await self._behind(interaction):
            await asyncio.sleep(pause)
            waited += pause
            pause = min(2 * pause, _LONGEST_POLL_SECONDS)


log = structlog.get_logger(__name__)

_LONGEST_WRITE_SECONDS = 20.0
_STOPPED_WRITE_SECONDS = 2.0
WRITE_PAUSE_SECONDS = 0.25
"""Pause before each write: nobody reads faster, and each write delays the answer itself."""


class Progress:
    """Records and shows stages in the background. Implements `ReportStage`.

    Every stage becomes a row, in order; stages close together share one transaction. The channel
    shows only the latest, at once, and never DONE, which the reply itself implies. A channel with
    placeholders posts one first, recorded before and after it is posted. Failures are logged, as
    errors unless a platform only asks to wait or the claim is lost. The ``async with`` block ends
    when nothing is being written, so that nothing can overwrite the reply that follows; stages not
    written by then are ``unwritten``, to be recorded with the outcome.
    """

    def __init__(self, interaction: Interaction, work: Worklist, channel: Channel | None) -> None:
        self._interaction = interaction
        self._id = interaction.id
        self._message = interaction.message
        self._placeholder = interaction.placeholder
        self._work = work
        self._channel = channel
        self._activities: deque[Activity] = deque()
        self._latest: Activity | None = None
        self._writing: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def placeholder(self) -> PostedRef | None:
        """The placeholder, if one was opened."""
        return self._placeholder

    @property
    def unwritten(self) -> tuple[Activity, ...]:
        """The stages that were reported just before the end, and are not recorded."""
        return tuple(self._activities)

    async def __call__(self, stage: Stage, pages: int = 0) -> None:
        self._latest = Activity(stage, pages)
        self._activities.append(self._latest)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        if self._writing is None:
            return
        if error is not None:
            # A placeholder that is being posted must be recorded, or it could not be withdrawn.
            self._activities.clear()
            self._latest = None
        stopped = isinstance(error, asyncio.CancelledError)
        patience = _STOPPED_WRITE_SECONDS if stopped else _LONGEST_WRITE_SECONDS
        _, late = await asyncio.wait([self._writing], timeout=patience)
        for writing in late:
            writing.cancel()

    async def _write(self) -> None:
        """Show the latest stage at once; record those of a while in one transaction."""
        shown: Activity | None = None
        while self._activities or shown is not self._latest:
            shown = self._latest
            if shown is not None and shown.stage is not Stage.DONE:
                await self._attempt(shown, self._show(shown))
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITE_PAUSE_SECONDS):
                    await self._ending.wait()
                return
            activities = list(self._activities)
            self._activities.clear()
            if activities:
                await self._attempt(activities[-1], self._work.stage(self._id, *activities))

    async def _attempt(self, activity: Activity, writing: Awaitable[None]) -> None:
        """Await a write; log its failure."""
        about = {"interaction_id": self._id, "stage": activity.stage.value}
        try:
            await writing
        except DeliveryFailed as error:
            if error.retry_after_seconds is None:
                log.error("progress.failed", **about, why=str(error))  # noqa: TRY400 - it says it all
            else:
                log.info("progress.left_out", **about, why=str(error))
        except ClaimLost as error:
            # The question was edited, withdrawn or taken over meanwhile: the worker logs that.
            log.debug("progress.left_out", interaction_id=self._id, why=str(error))
        except Exception as error:
            known = isinstance(error, BotError)
            why = str(error) if known else ""
            log.exception("progress.failed", **about, why=why, exc_info=not known)

    async def _show(self, activity: Activity) -> None:
        if self._channel is None:
            return
        if self._placeholder is None:
            await self._open(self._channel)
        at = self._placeholder if self._placeholder and self._placeholder.id else None
        await self._channel.progress(self._message, activity, at)

    async def _open(self, channel: Channel) -> None:
        if not isinstance(channel, OpensPlaceholders) or not channel.has_placeholder(self._message):
            return
        self._placeholder = PostedRef(self._message.thread.channel, "")
        await self._work.placeholder(self._interaction, self._placeholder)
        self._placeholder = await channel.open_placeholder(self._message)
        await self._work.placeholder(self._interaction, self._placeholder)
