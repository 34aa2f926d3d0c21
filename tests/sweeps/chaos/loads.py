"""Many questions within seconds while any one server is killed, and comes back.

Events come at a rate, whatever the servers do; what is refused is sent again as Slack does. The
next server is killed at a random moment after the one before is ready again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests import postgres
from tests.sweeps.chaos.event_delivery import Again
from tests.sweeps.chaos.questions import PEOPLE, Question, draw_questions
from tests.sweeps.chaos.scenario import (
    Result,
    RunningSystem,
    evidence,
    indexed,
    result_of,
    running_system,
    unanswered,
    until_answered,
)
from tests.sweeps.chaos.server_processes import START_SECONDS, Replica
from tests.sweeps.chaos.takeover import AIM_SECONDS, BegunWork, Takeover, follow
from tests.sweeps.chaos.verdict import GLANCE_SECONDS, sqlite_record

DATABASE = "load"
_THREADS_A_RATE = 2
"""Threads talked in at a time, by the rate: so many seconds apart a thread's questions come."""

_ASKERS = 25
"""A server that has just started may ask Slack at once who so many are, and then about one a
second: it would be that what is measured."""

_COMMIT_SECONDS = 0.2

_AGAIN = Again((0.3, 10.0, 30.0), 30.0)
_NO_BOUND = {"FRONTDESK_WAITING": "100000"}
"""Who is told to ask again later would count as answered otherwise."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a run under load is made of; the same seed draws the same questions.

    ``roles``: FRONTDESK_ROLE of each server; more than one are on a PostgreSQL. ``kills``: at most,
    as all may be answered before; ``gap_seconds`` after all servers are ready the next one is
    killed. ``quiet``: afterwards, for replies that should not come.
    ``strict_rates``: Slack answers 429 to more than it documents to take, and breaks no calls, as
    what it breaks is looked up, and of look-ups it takes 50 a minute.
    """

    seed: int = 1
    rate: float = 200.0
    seconds: float = 10.0
    kills: int = 10
    gap_seconds: tuple[float, float] = (0.5, 6.0)
    roles: Sequence[str] = ("all",)
    again: Again = _AGAIN
    patience: float = 600.0
    quiet: float = 10.0
    forgetful: bool = False
    plain: bool = True
    strict_rates: bool = False

    @property
    def questions(self) -> int:
        """Return how many are asked."""
        return round(self.rate * self.seconds)

    @property
    def alone(self) -> bool:
        """Whether one server is all there is, so that nobody takes over but itself."""
        return len(self.roles) == 1


LOADS: Mapping[str, tuple[str, Load]] = {
    "sqlite": ("SQLite, 200/s", Load()),
    "burst": ("SQLite, 500/s", Load(rate=500.0, seconds=4.0)),
    "two": ("2 servers, 200/s", Load(roles=("all",) * 2)),
    "rates": ("2 servers, 200/s, Slack's rates", Load(roles=("all",) * 2, strict_rates=True)),
    "four": ("4 servers, 200/s", Load(roles=("all",) * 4)),
    "roles": ("2 accept, 2 work, 200/s", Load(roles=("accept", "work") * 2)),
}


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of a run, the rate at which was asked, and what became of killed servers' work."""

    result: Result
    rate: float
    takeovers: Sequence[Takeover]

    @property
    def takeover_seconds(self) -> list[float]:
        """Return how long each question waited that a killed server had begun."""
        return [each for takeover in self.takeovers for each in takeover.seconds]

    @property
    def kept(self) -> bool:
        """Whether all promises were kept, the one about time included."""
        longest = max(self.takeover_seconds, default=0.0)
        return self.result.verdict.kept and longest <= AIM_SECONDS


class Killer:
    """Kills servers one after the other, and follows what becomes of their work."""

    def __init__(
        self, stage: RunningSystem, work: BegunWork, draw: np.random.Generator, *, alone: bool
    ) -> None:
        self._stage = stage
        self._work = work
        self._draw = draw
        self._alone = alone
        self._executors: dict[str, str] = {}
        self._seen: frozenset[str] = frozenset()
        self._following: list[asyncio.Task[None]] = []
        self.takeovers: list[Takeover] = []

    async def bring(self, role: str) -> None:
        """Add a server and learn its name in the record; one after the other."""
        await self._ready(await self._stage.fleet.add(role))

    async def kill(self, load: Load) -> None:
        """Kill as often as is asked for, less often when all is answered before."""
        for _ in range(load.kills):
            await asyncio.sleep(float(self._draw.uniform(*load.gap_seconds)))
            if unanswered(self._stage) <= 0:
                break
            replicas = self._stage.fleet.replicas
            await self._kill(replicas[int(self._draw.integers(len(replicas)))])

    async def end(self) -> None:
        """Wait until all work is taken over."""
        await asyncio.gather(*self._following)

    async def _kill(self, victim: Replica) -> None:
        now = self._stage.timeline.now
        self._stage.wire.after_kill()
        takeover = Takeover(since=now())
        await self._stage.fleet.kill(victim)
        executor = self._executors.get(victim.name, "")
        # For what PostgreSQL was committing.
        await asyncio.sleep(_COMMIT_SECONDS)
        begun = await asyncio.to_thread(self._work.begun_by, executor)
        for earlier in self.takeovers:
            earlier.leave(begun, now())
        takeover.left = dict(begun)
        self.takeovers.append(takeover)
        self._stage.timeline.note(f"{victim.name} had begun {len(begun)} questions")
        following = follow(self._work, self._stage.timeline, takeover)
        self._following.append(asyncio.create_task(following))
        await self._stage.fleet.start(victim)
        await self._ready(victim)
        if self._alone:
            takeover.since = now()

    async def _ready(self, server: Replica) -> None:
        async with asyncio.timeout(START_SECONDS):
            await server.ready.wait()
            if server.role != "accept":
                self._executors[server.name] = await self._newcomer()

    async def _newcomer(self) -> str:
        """Return the name of who has just got a lease."""
        while not (found := await asyncio.to_thread(self._work.executors)) - self._seen:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(GLANCE_SECONDS)
        new = found - self._seen
        self._seen |= found
        return next(iter(new))


async def under_load(load: Load, folder: Path, prepared: Path | None = None) -> LoadResult:
    """Ask at a rate, kill servers meanwhile and while answers are waited for, and judge."""
    draw = np.random.default_rng(load.seed)
    threads = max(1, round(load.rate * _THREADS_A_RATE))
    questions = draw_questions(load.questions, draw, threads=threads, askers=_ASKERS)
    index = await indexed(prepared, folder)
    async with _set_up(load, folder, index, draw) as (stage, record, killer):
        for role in load.roles:
            await killer.bring(role)
        stage.slack.channels |= {question.channel for question in questions} | {PEOPLE}
        began = stage.timeline.now()
        rate = await _ask(stage, questions, killer, load, draw)
        await asyncio.sleep(load.quiet)
        result = result_of(stage, questions, began)
        # What waits for its turn is answered long after the last fault.
        result.verdict.seconds = None
        result.evidence = evidence(stage, result.verdict.suspects, questions, record)
        await killer.end()
        refusals = (
            each for receipt in stage.courier.receipts.values() for each in receipt.refusals
        )
        result.timeline = [*stage.timeline.lines(), f"refused: {dict(Counter(refusals))}"]
    return LoadResult(result, rate, killer.takeovers)


async def _ask(
    stage: RunningSystem,
    questions: Sequence[Question],
    killer: Killer,
    load: Load,
    draw: np.random.Generator,
) -> float:
    """Ask while servers are killed, and wait for the answers; return the questions a second."""
    now = stage.timeline.now
    stage.wire.stormy = not load.strict_rates
    began = due = now()
    async with asyncio.TaskGroup() as group:
        group.create_task(killer.kill(load))
        for question in questions:
            group.create_task(stage.courier.ask(question))
            due += float(draw.exponential(1 / load.rate))
            await asyncio.sleep(max(0.0, due - now()))
        rate = len(questions) / (now() - began)
    stage.wire.stormy = False
    await until_answered(stage, questions, load.patience)
    return rate


@asynccontextmanager
async def _set_up(
    load: Load, folder: Path, index: Path, draw: np.random.Generator
) -> AsyncIterator[tuple[RunningSystem, str, Killer]]:
    """Make a system without servers; give it with its record's address and who kills."""
    async with AsyncExitStack() as closing:
        settings = dict(_NO_BOUND)
        # The first server's data directory; only one that is alone keeps its record there.
        data_dir = folder / "server-1"
        record, engine_file = sqlite_record(data_dir), data_dir / "engine.sqlite"
        if not load.alone:
            database = closing.enter_context(postgres.running(waits_for_disk=True))
            settings["DATABASE_URL"] = database.create(DATABASE)
            record = settings["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
        stage = await closing.enter_async_context(
            running_system(
                folder,
                index,
                draw=draw,
                forgetful=load.forgetful,
                plain=load.plain,
                again=load.again,
                strict_rates=load.strict_rates,
                **settings,
            )
        )
        work = BegunWork(record, engine_file if load.alone else None)
        closing.callback(work.close)
        yield stage, record, Killer(stage, work, draw, alone=load.alone)
