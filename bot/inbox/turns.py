"""What is done next: recording what arrives, then people's questions in turn.

A place is held from when a question's work is begun until it ends or waits for a platform, so that
few questions are under way and the others wait in memory, where they cost nothing.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from bot.domain.errors import InboxFull, InboxUnavailable
from bot.domain.messages import InteractionId

log = structlog.get_logger(__name__)

PLACES_PER_ANSWER = 2
"""Questions under way for each that may be answered at a time: the next ones are prepared."""

_WAITING_PER_PLACE = 1
"""Questions that a process takes up before there is a place for them."""

_LONGEST_SECONDS = 0.25
"""While messages arrive all the time, the work on one question is begun so often."""

_BURST = 20
_BURST_SECONDS = 1.0
"""So many messages within so long are a burst."""

_LOOK_SECONDS = 0.002
_PROMPT_SECONDS = 0.01
"""A loop that is later than this has requests to read."""

_PAUSE_SECONDS = 1.0
"""Pause after a question's work could not be begun."""

_TAKEN_SECONDS = 2.0
"""A question that was begun and does not run by then had been begun under this id before."""

_URGENT = -1

_TOLD_EVERY_SECONDS = 3.0
"""Who waits is told so not at once: most turns come sooner."""

_TOLD_AT_A_TIME = 20

Rank: TypeAlias = tuple[int, int, int]
"""Of a waiting question: its person's how manieth, its channel's among these, order of arrival."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for its turn; an ``urgent`` one goes before all that are not.

    ``tell`` tells its asker how many questions are before it.
    """

    id: InteractionId
    thread: str
    person: str
    channel: str
    begin: Callable[[], Awaitable[None]]
    tell: Callable[[int], Awaitable[None]]
    urgent: bool = False


class FairLine:
    """Orders waiting questions: everyone's first goes before anyone's second.

    Among the first ones channels alternate. A thread's questions keep their order, whoever asks:
    only the first of a thread can be next.
    """

    def __init__(self) -> None:
        self._round = 0
        self._arrivals = 0
        self._threads: dict[str, deque[tuple[Rank, Waiting]]] = {}
        self._first: list[tuple[Rank, str]] = []
        self._of_person: dict[str, int] = {}
        self._of_channel: Counter[tuple[int, str]] = Counter()
        self._held: set[str] = set()

    @property
    def ready(self) -> bool:
        """Whether a question can be next: one whose thread is not held."""
        return bool(self._first)

    def add(self, waiting: Waiting) -> None:
        """Add a question that arrived after all others."""
        self._arrivals += 1
        rank = (_URGENT, 0, self._arrivals) if waiting.urgent else self._rank(waiting)
        line = self._threads.setdefault(waiting.thread, deque())
        line.append((rank, waiting))
        if len(line) == 1 and waiting.thread not in self._held:
            heapq.heappush(self._first, (rank, waiting.thread))

    def next(self) -> Waiting | None:
        """Take the question whose turn it is; its thread is held until it is released."""
        if not self._first:
            return None
        (turn, _, _), thread = heapq.heappop(self._first)
        line = self._threads[thread]
        _, waiting = line.popleft()
        if not line:
            del self._threads[thread]
        self._held.add(thread)
        self._begin_round(turn)
        return waiting

    def release(self, thread: str) -> None:
        """Let the next question of a thread have its turn."""
        if thread not in self._held:
            return
        self._held.discard(thread)
        line = self._threads.get(thread)
        if line:
            heapq.heappush(self._first, (line[0][0], thread))

    def ordered(self) -> Sequence[Waiting]:
        """Return the waiting questions, those that are next first."""
        lines = (each for line in self._threads.values() for each in line)
        return [waiting for _, waiting in sorted(lines, key=lambda each: each[0])]

    def _rank(self, waiting: Waiting) -> Rank:
        turn = max(self._round, self._of_person.get(waiting.person, -1) + 1)
        self._of_person[waiting.person] = turn
        beside = self._of_channel[turn, waiting.channel]
        self._of_channel[turn, waiting.channel] += 1
        return turn, beside, self._arrivals

    def _begin_round(self, turn: int) -> None:
        if turn <= self._round:
            return
        self._round = turn
        self._of_person = {each: at for each, at in self._of_person.items() if at >= turn}
        self._of_channel = Counter(
            {each: count for each, count in self._of_channel.items() if each[0] >= turn}
        )


class Arrivals:
    """The tasks that record messages.

    Args:
        most: How many may be under way; the sender of another one is asked to send it again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[InteractionId]] = set()
        self._passed_at = 0.0
        self._recent: deque[float] = deque(maxlen=_BURST)

    def check(self) -> None:
        """Raise InboxFull if no more messages can be recorded in time."""
        if len(self._tasks) >= self._most:
            raise InboxFull(f"{self._most} messages are being recorded. Send it again in a minute.")

    def add(self, task: asyncio.Task[InteractionId]) -> None:
        self._recent.append(time.monotonic())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def let_pass(self) -> None:
        """Wait until no message is being recorded, for a moment at most.

        In a burst also until the loop is prompt, as requests may wait to be read. Without one a
        busy loop is busy with the other work itself.
        """
        end = self._passed_at + _LONGEST_SECONDS
        while (left := end - time.monotonic()) > 0:
            if self._tasks:
                await asyncio.wait(set(self._tasks), timeout=left)
            elif not self._in_burst() or await _delay() < _PROMPT_SECONDS:
                break
        self._passed_at = time.monotonic()

    def _in_burst(self) -> bool:
        recent = self._recent
        return len(recent) == _BURST and time.monotonic() - recent[0] < _BURST_SECONDS


async def _delay() -> float:
    """Return by how much the loop is late, as it has other things to do."""
    began = time.monotonic()
    await asyncio.sleep(_LOOK_SECONDS)
    return time.monotonic() - began - _LOOK_SECONDS


class Turns:
    """Begins the work on waiting questions in turn, as many at once as there are places.

    Args:
        places: How many questions may be under way.
        yields: Awaited before each; returns when nothing more urgent is to be done.
    """

    def __init__(self, places: int, yields: Callable[[], Awaitable[None]]) -> None:
        self._places = places
        self._yields = yields
        self._told: dict[InteractionId, int] = {}
        self._telling: asyncio.Task[None] | None = None
        self._line = FairLine()
        self._waiting: set[InteractionId] = set()
        self._under_way: dict[InteractionId, str | None] = {}
        self._untaken: set[InteractionId] = set()
        self._begun_now: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._beginning: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def room(self) -> int:
        """How many more questions may be taken up: some wait, so that no place stays free.

        0 while there are enough, so that they are taken up in groups.
        """
        room = (1 + _WAITING_PER_PLACE) * self._places - len(self._waiting) - len(self._under_way)
        return room if room >= _WAITING_PER_PLACE * self._places // 2 else 0

    def __contains__(self, interaction_id: InteractionId) -> bool:
        return interaction_id in self._waiting

    def add(self, waiting: Waiting) -> None:
        """Let a question wait for its turn; one that waits already keeps its place."""
        if waiting.id in self._waiting or self._stopped:
            return
        self._waiting.add(waiting.id)
        self._line.add(waiting)
        self._moved.set()
        if self._beginning is None or self._beginning.done():
            self._beginning = asyncio.create_task(self._begin())
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._keep_told())

    def drop(self, interaction_id: InteractionId) -> None:
        """Let a question wait no longer, as it was withdrawn."""
        self._waiting.discard(interaction_id)

    def took(self, interaction_id: InteractionId) -> None:
        """Note that a question is under way, whoever began it."""
        self._waiting.discard(interaction_id)
        self._untaken.discard(interaction_id)
        self._under_way.setdefault(interaction_id, None)

    def ended(self, interaction_id: InteractionId) -> None:
        """Give a question's place to the next, as it ended or waits for a platform."""
        self._untaken.discard(interaction_id)
        thread = self._under_way.pop(interaction_id, None)
        if thread is not None:
            self._line.release(thread)
        self._moved.set()

    @contextmanager
    def lent(self, interaction_id: InteractionId) -> Iterator[None]:
        """Give the place to others in the block, in which the question waits for something else.

        Else all places could be taken by questions that wait for one that has none, perhaps an
        earlier one of the same thread that came to this process later, or for their platform.
        """
        held = interaction_id in self._under_way
        self.ended(interaction_id)
        try:
            yield
        finally:
            if held:
                self._under_way[interaction_id] = None

    async def stop(self) -> None:
        """Begin no more."""
        self._stopped = True
        loops = [each for each in (self._beginning, self._telling) if each is not None]
        running = [*loops, *self._begun_now]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _begin(self) -> None:
        while self._waiting:
            self._moved.clear()
            if len(self._under_way) >= self._places or not self._line.ready:
                await self._moved.wait()
                continue
            await self._yields()
            waiting = self._line.next()
            if waiting is None:
                continue
            if waiting.id not in self._waiting:
                self._line.release(waiting.thread)
                continue
            self._waiting.discard(waiting.id)
            self._under_way[waiting.id] = waiting.thread
            begun = asyncio.create_task(self._begun(waiting))
            self._begun_now.add(begun)
            begun.add_done_callback(self._begun_now.discard)

    async def _keep_told(self) -> None:
        """Tell who waits how many are before, again when it is half as many."""
        while self._waiting:
            await asyncio.sleep(_TOLD_EVERY_SECONDS)
            self._told = {each: told for each, told in self._told.items() if each in self}
            ordered = [each for each in self._line.ordered() if each.id in self]
            news = [each for each in enumerate(ordered) if self._is_news(*each)]
            for before, waiting in news[:_TOLD_AT_A_TIME]:
                if waiting.id in self:
                    self._told[waiting.id] = before
                    await self._yields()
                    await waiting.tell(before)

    def _is_news(self, before: int, waiting: Waiting) -> bool:
        told = self._told.get(waiting.id)
        return told is None or before <= told // 2 < told

    async def _begun(self, waiting: Waiting) -> None:
        """Begin a question, and give its place away if it does not run."""
        self._untaken.add(waiting.id)
        try:
            await waiting.begin()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is begun later
            known = isinstance(error, InboxUnavailable)
            why = str(error) if known else type(error).__name__
            log.warning("turns.not_begun", interaction_id=waiting.id, why=why)
            await asyncio.sleep(_PAUSE_SECONDS)
            self.ended(waiting.id)
            self.add(waiting)
            return
        await asyncio.sleep(_TAKEN_SECONDS)
        if waiting.id in self._untaken:
            self.ended(waiting.id)
