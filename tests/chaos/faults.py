"""Which faults come when, drawn from a seed, and how each is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.chaos.fleet import START_SECONDS, Fleet, Replica
from tests.chaos.timeline import Timeline
from tests.chaos.wire import Wire
from tests.postgres import Server

Kind = Literal["kill", "kill for good", "restart", "crash", "disconnect"]

_LONGEST_WAIT_SECONDS = 1.0
_AT_WORK_SHARE = 0.75
_MOST_REPLIES = 20
_LONGEST_AT_WORK_SECONDS = 20.0
_GLANCE_SECONDS = 0.05
_STILL_TO_COME = 8
"""So many questions are asked around and after the last fault."""
_NEWCOMER_SECONDS = (2.0, 6.0)
"""A server that is gone for good is replaced by another one after a while."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Comes ``wait_seconds`` after question number ``after`` was sent.

    ``replies``: most kills wait until so many replies have been posted since the server takes
    questions. Others, with 0, may find it starting, and taking up what the one before left.
    kill: the server is started again at once. kill for good: another one takes its place.
    restart, crash: PostgreSQL is stopped, orderly or not, and started. disconnect: all of its
    connections are cut.
    """

    after: int
    wait_seconds: float
    kind: Kind
    replies: int


def draw_faults(
    questions: int, kinds: Sequence[Kind], draw: np.random.Generator
) -> tuple[Fault, ...]:
    """Spread faults over the questions: each at random within its share of them.

    The last kind comes last, while the last questions are asked.
    """
    share = questions / len(kinds)
    last = max(0, questions - _STILL_TO_COME)
    points = [int((number + draw.random()) * share) for number in range(len(kinds) - 1)]
    earlier = [
        Fault(
            after=min(after, last),
            wait_seconds=float(draw.random()) * _LONGEST_WAIT_SECONDS,
            kind=kind,
            replies=_replies(draw),
        )
        for after, kind in zip(points, kinds[:-1], strict=True)
    ]
    return (*earlier, Fault(last, float(draw.random()), kinds[-1], replies=0))


def _replies(draw: np.random.Generator) -> int:
    """Draw how much a server does before it is killed; a slow machine only takes longer for it."""
    at_work = draw.random() < _AT_WORK_SHARE
    return int(draw.integers(1, _MOST_REPLIES + 1)) if at_work else 0


def on_sqlite(kills: int) -> tuple[Kind, ...]:
    """Return the faults of one server that always comes back."""
    return tuple("kill" for _ in range(kills))


def on_postgresql(
    kills: int, restarts: int, disconnects: int, draw: np.random.Generator
) -> tuple[Kind, ...]:
    """Return the faults of several servers on one database, in random order.

    Every other kill is for good, and so is the last fault of all: its work must be taken over.
    """
    chosen: list[Kind] = ["kill" if number % 2 else "kill for good" for number in range(1, kills)]
    chosen += ["restart" if number % 2 else "crash" for number in range(restarts)]
    chosen += ["disconnect"] * disconnects
    shuffled: list[Kind] = [chosen[index] for index in draw.permutation(len(chosen)).tolist()]
    return (*shuffled, "kill for good")


class Saboteur:
    """Does the faults, one after the other, while questions are asked.

    ``done`` counts them; ``awaited`` is set while no question is asked until one more is done.
    """

    def __init__(
        self,
        fleet: Fleet,
        wire: Wire,
        timeline: Timeline,
        draw: np.random.Generator,
        *,
        posted: Callable[[], int],
        unanswered: Callable[[], int],
        database: Server | None = None,
        name: str = "",
    ) -> None:
        self._fleet = fleet
        self._wire = wire
        self._timeline = timeline
        self._draw = draw
        self._posted = posted
        self._unanswered = unanswered
        self._database = database
        self._name = name
        self.done = 0
        self.awaited = False
        self._coming: list[asyncio.Task[None]] = []

    async def do(self, fault: Fault) -> None:
        """Do one fault, and what follows at once; a newcomer comes later."""
        victim = self._victim(at_work=fault.kind == "kill for good")
        if fault.replies:
            await self._at_work(victim, fault.replies)
        await asyncio.sleep(fault.wait_seconds)
        match fault.kind:
            case "kill" | "kill for good":
                await self._kill(victim, for_good=fault.kind == "kill for good")
            case "restart" | "crash":
                await self._restart(crash=fault.kind == "crash")
            case "disconnect":
                await self._disconnect()
        self.done += 1

    async def end(self) -> None:
        """Bring no more newcomers."""
        for task in self._coming:
            task.cancel()
        await asyncio.gather(*self._coming, return_exceptions=True)

    async def _at_work(self, victim: Replica, replies: int) -> None:
        """Wait until a server runs and some replies were posted, or none are due any more."""
        async with asyncio.timeout(START_SECONDS):
            await victim.ready.wait()
        enough = self._posted() + replies
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_AT_WORK_SECONDS):
                while self._posted() < enough and not self._in_vain():  # noqa: ASYNC110 - elsewhere
                    await asyncio.sleep(_GLANCE_SECONDS)

    def _in_vain(self) -> bool:
        """Tell whether all is answered, and nothing more is asked before this fault is done."""
        return self.awaited and self._unanswered() <= 0

    async def _kill(self, victim: Replica, *, for_good: bool) -> None:
        self._wire.after_kill()
        await self._fleet.kill(victim)
        if for_good:
            self._fleet.remove(victim)
            self._coming.append(asyncio.create_task(self._newcomer()))
        else:
            await self._fleet.start(victim)

    def _victim(self, *, at_work: bool) -> Replica:
        """Choose a server; one that never comes back should have work that is to be taken over."""
        living = [replica for replica in self._fleet.replicas if replica.alive]
        working = [replica for replica in living if at_work and replica.ready.is_set()]
        candidates = working or living or self._fleet.replicas
        return candidates[int(self._draw.integers(len(candidates)))]

    async def _newcomer(self) -> None:
        await asyncio.sleep(float(self._draw.uniform(*_NEWCOMER_SECONDS)))
        await self._fleet.add()

    async def _restart(self, *, crash: bool) -> None:
        if self._database is not None:
            how = "crashed" if crash else "stopped"
            self._timeline.note(f"PostgreSQL {how}", fault=True)
            await asyncio.to_thread(self._database.restart, crash=crash)
            self._timeline.note("PostgreSQL is back", fault=True)

    async def _disconnect(self) -> None:
        if self._database is not None:
            await asyncio.to_thread(self._database.disconnect, self._name)
            self._timeline.note("all connections to PostgreSQL cut", fault=True)
