"""What durability adds to an answer: the same questions by the desk alone and by the whole way.

``python -m tests.bench.bench_durability [--engine sqlite|postgresql] [--questions 200]``

The whole way is what a message takes in ``serve``: kept, begun in the engine, admitted within the
limits, answered by the same desk, recorded, delivered to a platform that takes the reply at once.
Each question goes both ways, in turns; what is added is the difference.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, Engine, event

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.desk import Desk
from bot.answering.limit_reports import RefusalLog
from bot.answering.limits import LimitChecks
from bot.app.worker import InboxOptions, build_durable_inbox
from bot.domain.messages import Message, Platform, Policy, Stage
from bot.domain.ports import Channel
from bot.domain.settings_loading import load_settings
from bot.domain.urls import with_driver
from bot.domain.usage import usage_limits
from bot.inbox.accept import DurableInbox
from bot.inbox.engine import DbosEngine
from bot.inbox.worker import WorkLimits
from bot.observability.logs import set_up_logs
from bot.store.database import Store, open_store, sqlite_url
from rag.index.embedded.index import open_index
from rag.index.embedded.schema import SCHEMA
from rag.types import Fingerprint
from tests import postgres
from tests.bench.aims import Aim, machine_scale, print_aims
from tests.bench.answering import PLATFORM, AtOnce
from tests.bench.bench_overhead import COMMONEST, WORDS, FreeEmbedder, desk_over, fill
from tests.fakes.builders import inquiry, message

AIM_MS = 60.0
CHUNKS = 1000
WARM_UP = 10
BARE_COMMITS = 100
UNREACHED = 10**6
"""A rate that is counted and never reached."""

NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(slots=True)
class Times:
    """Milliseconds, one value a question; ``settled`` is when nothing is left to be done."""

    alone: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    replied: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)

    @property
    def added(self) -> list[float]:
        """Return how much later than from the desk alone each reply was there."""
        return [whole - alone for whole, alone in zip(self.replied, self.alone, strict=True)]


@contextmanager
def transactions_counted() -> Iterator[Counter[str]]:
    """Count transactions until the block ends: the record's, which are asynchronous, and others."""
    counted: Counter[str] = Counter()

    def count(connection: Connection) -> None:
        if not connection.dialect.is_async:
            counted["engine"] += 1
        elif connection.get_execution_options().get("brief"):
            counted["brief"] += 1
        else:
            counted["lasting"] += 1

    event.listen(Engine, "commit", count)
    try:
        yield counted
    finally:
        event.remove(Engine, "commit", count)


@asynccontextmanager
async def serving(
    store: Store, engine: DbosEngine, desk: Desk, channel: AtOnce, *, alone: bool
) -> AsyncIterator[DurableInbox]:
    """Join an inbox as the application does, with all limits that it has by default."""
    most = {"rate_per_user_per_minute": UNREACHED, "rate_per_channel_per_minute": UNREACHED}
    settings = load_settings(_env_file=None, **most)
    limits = LimitChecks(
        usage_limits(settings),
        use=store.counting,
        current_pause=store.pauses.current,
        log=RefusalLog(),
    )
    channels: dict[Platform, Channel] = {channel.platform: channel}
    opened = build_durable_inbox(
        store,
        engine,
        admission=Admission(
            store.interactions, VouchedDirectory(), Policy(), store.policies, limits=limits
        ),
        desk=desk,
        channels=channels,
        limits=WorkLimits(),
        options=InboxOptions(alone=alone, prepare=_nothing, clean=_nothing),
    )
    await opened.supervisor.start()
    try:
        yield opened.inbox
    finally:
        await opened.supervisor.stop()


async def measure(
    store: Store, inbox: DurableInbox, desk: Desk, channel: AtOnce, count: int
) -> Times:
    """Ask each question both ways; the first few warm up."""
    draw = np.random.default_rng(13)
    times = Times()
    for number in range(count + WARM_UP):
        words = " ".join(f"word{n}" for n in draw.integers(COMMONEST, WORDS, 6))
        asked = message(
            f"how do I use {words}", message_id=str(number), platform=PLATFORM, thread=str(number)
        )
        if number % 2:
            whole = await _whole(store, inbox, channel, asked)
        started = time.perf_counter()
        await desk.handle(inquiry(asked), _unseen)
        alone = _ms(started)
        if not number % 2:
            whole = await _whole(store, inbox, channel, asked)
        if number >= WARM_UP:
            times.alone.append(alone)
            for values, value in zip(
                (times.accepted, times.replied, times.settled), whole, strict=True
            ):
                values.append(value)
    return times


async def _whole(
    store: Store, inbox: DurableInbox, channel: AtOnce, asked: Message
) -> tuple[float, float, float]:
    """Return the milliseconds until it was accepted, replied to, and done."""
    started = time.perf_counter()
    taken = channel.expect(asked.interaction_id)
    await inbox.accept(asked)
    accepted = _ms(started)
    replied = (await taken - started) * 1000
    while True:
        recorded = await store.work.get(asked.interaction_id)
        if recorded is not None and recorded.posted is not None:
            return accepted, replied, _ms(started)
        await asyncio.sleep(0.001)


async def run(folder: Path, name: str, url: str, engine_url: str, count: int) -> Times:
    """Measure on one database, and print what it took."""
    embedder = FreeEmbedder()
    expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA)
    index = await open_index(folder / "index.sqlite", expected)
    store = await open_store(url)
    channel = AtOnce()
    try:
        await fill(index, embedder, CHUNKS)
        desk = desk_over(index, embedder)
        engine = DbosEngine(engine_url, "bench")
        alone = name == "sqlite"
        async with serving(store, engine, desk, channel, alone=alone) as inbox:
            with transactions_counted() as counted:
                times = await measure(store, inbox, desk, channel, count)
    finally:
        await store.close()
        await index.close()
    _print(name, times, counted, count + WARM_UP)
    return times


def bare_commits(folder: Path) -> list[float]:
    """Return the milliseconds of commits that wait for the disk, and of nothing else."""
    took = []
    with closing(sqlite3.connect(folder / "bare.sqlite", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE kept (n INTEGER)")
        for number in range(BARE_COMMITS):
            started = time.perf_counter()
            connection.execute("INSERT INTO kept VALUES (?)", (number,))
            took.append(_ms(started))
    return took


def _print(name: str, times: Times, counted: Counter[str], questions: int) -> None:
    print(f"{NAMES[name]}: {len(times.alone)} questions, each both ways, ms")
    rows = {
        "desk alone": times.alone,
        "message accepted": times.accepted,
        "platform has the reply": times.replied,
        "all recorded": times.settled,
        "added to the reply": times.added,
    }
    for label, values in rows.items():
        p50, p95 = np.percentile(values, [50, 95])
        print(f"  {label:<24} p50 {p50:6.1f}   p95 {p95:6.1f}")
    each = {kind: counted[kind] / questions for kind in ("lasting", "brief", "engine")}
    print(
        f"  transactions an answer   {each['lasting']:.1f} of the record that wait for the disk, "
        f"{each['brief']:.1f} that do not, {each['engine']:.1f} of the engine"
    )


async def _nothing() -> None:
    """The record is open already, and nothing in it is old."""


async def _unseen(_: Stage, __: int = 0) -> None:
    """Nobody waits."""


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _on_sqlite(count: int) -> Times:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        p50, p95 = np.percentile(bare_commits(folder), [50, 95])
        print(f"one bare commit that waits for the disk: p50 {p50:.1f}   p95 {p95:.1f} ms")
        engine_url = f"sqlite:///{folder / 'engine.sqlite'}"
        return asyncio.run(run(folder, "sqlite", sqlite_url(folder), engine_url, count))


def _on_postgresql(count: int) -> Times:
    with tempfile.TemporaryDirectory() as name, postgres.running(waits_for_disk=True) as server:
        url = with_driver(server.create("bench"))
        return asyncio.run(run(Path(name), "postgresql", url, url, count))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=[*NAMES, "all"], default="all")
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    set_up_logs("error")
    missed = 0
    if options.engine != "postgresql":
        p50 = float(np.median(_on_sqlite(options.questions).added))
        most = AIM_MS * machine_scale()
        missed = print_aims(Aim("added to the reply on SQLite, p50", p50, most, "ms"))
    if options.engine != "sqlite":
        if postgres.available():
            _on_postgresql(options.questions)
        else:
            print(postgres.MISSING)
    return missed


if __name__ == "__main__":
    sys.exit(main())
