"""A server that is killed and starts again, the events that it is sent, and what came of them.

Each start is a process that SIGKILL ends: nothing of it is tidied up. It is the whole application
but for its desk, which says back what it is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Protocol, cast

import aiohttp
from aiohttp import web

from bot.answering.desk import Desk
from bot.app.build import build
from bot.app.components import open_components
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Message, Person, Platform, Thread
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from tests.fakes.bot_ports import EchoDesk, MemoryEngine, generic_outcome
from tests.fork_server import forking, start_fork

_START_SECONDS = 60.0
_LONGEST_ANSWER_SECONDS = 0.3

ServerTarget = Callable[[Path, str, int, Connection], None]
"""Is a server until killed: given its folder, where the platform is, and its port; see ``serve``.

It is what another process is made of, so it stands in a module.
"""


@dataclass
class RestartableServer:
    """One server on one data directory, which may be dead or starting: then it is not ``up``."""

    live: ServerTarget
    data_dir: Path
    platform_url: str
    port: int
    session: aiohttp.ClientSession
    deaths: int = 0
    up: asyncio.Event = field(default_factory=asyncio.Event)
    _process: ForkServerProcess | None = None

    async def begin(self) -> None:
        """Start it, and wait until it takes events. Raises TimeoutError."""
        told, tells = forking().Pipe(duplex=False)
        given = (self.data_dir, self.platform_url, self.port, tells)
        self._process = forking().Process(target=self.live, args=given, daemon=True)
        await asyncio.to_thread(start_fork, self._process)
        tells.close()
        with told:
            if not await asyncio.to_thread(told.poll, _START_SECONDS):
                raise TimeoutError("The server did not start.")
            told.recv()
        self.up.set()

    async def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        assert self._process is not None
        self.up.clear()
        self._process.kill()
        await asyncio.to_thread(self._process.join)
        self._process.close()
        self._process = None
        self.deaths += 1


@asynccontextmanager
async def restartable_server(
    live: ServerTarget, data_dir: Path, platform_url: str
) -> AsyncIterator[RestartableServer]:
    """Keep a server until the block ends, but for the times at which it is killed."""
    port = _free_port()
    at = f"http://127.0.0.1:{port}"
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(at, connector=connector) as session:
        server = RestartableServer(live, data_dir, platform_url, port, session)
        await server.begin()
        try:
            yield server
        finally:
            await server.kill()


async def serve(settings: Settings, port: int, tells: Connection) -> None:
    """Be a server, and tell when it takes events."""
    async with open_components(settings) as parts:
        store = await open_store(sqlite_url(settings.data_dir))
        desk = cast("Desk", EchoDesk(_answer_slowly))
        app = build(settings, replace(parts, desk=desk), store, MemoryEngine())
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        tells.send("ready")
        await asyncio.Event().wait()


async def _answer_slowly(message: Message) -> Outcome:
    await asyncio.sleep(random.random() * _LONGEST_ANSWER_SECONDS)  # noqa: S311 - no secret
    return generic_outcome(f"You said: {message.text}")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


RETRY_SECONDS = 3.0
LONGEST_RETRY_SECONDS = 24.0
"""Who is not answered waits longer each time, as on platforms: or a slow server never recovers."""
_COPIES = (1, 2, 3, 4)
_COPY_WEIGHTS = (50, 25, 15, 10)
_APART_SECONDS = 3.0
"""Within so long all copies of what belongs together are sent, in any order."""


@dataclass
class AskedQuestion:
    """One question: where it stands, and what its asker did to it.

    ``channel`` and ``message_id`` are those that the record names it by.
    """

    number: int
    channel: str
    message_id: str
    thread: str
    edited: bool = False
    deleted: bool = False

    @property
    def mark(self) -> str:
        """What its answer shows, and no other."""
        return f"Q{self.number:05d}"


@dataclass
class ScheduledEvent:
    """One event, when its copies are sent, and what it is about. Times are in seconds.

    ``edits``: it tells of an edit.
    """

    event: Mapping[str, Any]
    times: tuple[float, ...]
    asked: AskedQuestion
    edits: bool = False


@dataclass(frozen=True)
class Size:
    """How many events happen, and how often the server is killed meanwhile.

    ``retry_seconds``: so long waits who was not answered, before the first of all repetitions.
    """

    events: int
    kills: int
    retry_seconds: float = RETRY_SECONDS


SendEvent = Callable[[ScheduledEvent, int], Awaitable[int]]
"""Sends an event for the so many-th time; returns the status, 0 when no answer came."""


@dataclass
class EventSender:
    """What became of the sendings; times are the clock's."""

    server: RestartableServer
    knock: SendEvent
    retry_seconds: float = RETRY_SECONDS
    sent: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    taken: dict[int, datetime] = field(default_factory=dict)

    async def send(self, sending: ScheduledEvent, began: float) -> None:
        """Send all copies at their times, and then until one is acknowledged."""
        copies = (self._copy(sending, at, number, began) for number, at in enumerate(sending.times))
        await asyncio.gather(*copies)
        number, pause = len(sending.times), self.retry_seconds
        while id(sending) not in self.taken:
            await self.server.up.wait()
            await asyncio.sleep(random.random() * pause)  # noqa: S311 - no secret
            await self._copy(sending, 0.0, number, began)
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)

    async def _copy(self, sending: ScheduledEvent, at: float, number: int, began: float) -> None:
        await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
        self.sent += 1
        status = await self.knock(sending, number)
        if status == 200:
            self.taken.setdefault(id(sending), datetime.now(UTC))
        else:
            self.refused[status] += 1


def copy_times(at: float, draw: random.Random) -> tuple[float, ...]:
    """Return when the copies of an event of that time are sent: up to four."""
    copies = draw.choices(_COPIES, _COPY_WEIGHTS)[0]
    return tuple(sorted(at + draw.uniform(0, _APART_SECONDS) for _ in range(copies)))


async def send_all(
    post: EventSender,
    sendings: Sequence[ScheduledEvent],
    kills: int,
    *,
    draw: random.Random,
    seconds: float,
) -> None:
    """Send everything at its time, and kill the server so often meanwhile."""
    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        group.create_task(_kill(post.server, [*_kill_times(kills, draw, seconds)], began))
        for sending in sendings:
            group.create_task(post.send(sending, began))


async def _kill(server: RestartableServer, at: Sequence[float], began: float) -> None:
    for moment in at:
        await asyncio.sleep(max(0.0, began + moment - asyncio.get_running_loop().time()))
        await server.kill()
        await server.begin()


def _kill_times(kills: int, draw: random.Random, seconds: float) -> Iterator[float]:
    yield from sorted(draw.uniform(min(1.0, seconds / 2), seconds) for _ in range(kills))


PATIENCE_SECONDS = 120.0
QUIET_SECONDS = 2.0
TENANT = "default"
_LOOK_SECONDS = 0.5

Answers = Mapping[str, Sequence[str]]
"""What stands in the conversations for each question, by its mark."""


@dataclass(frozen=True)
class Verdict:
    """The questions about which a promise was broken, by promise."""

    lost: list[str]
    twice: list[str]
    not_withdrawn: list[str]
    not_amended: list[str]
    not_forgotten: list[str]
    unfinished: int


NOTHING_BROKEN = Verdict([], [], [], [], [], 0)
"""What is to come of every run."""


@dataclass(frozen=True)
class Run:
    """One run: its verdict, and how much happened.

    On a platform that can't be asked what was posted: ``orphans`` say that a question is worked on,
    and stay though that is over; ``repeated`` are answers that stand there again and say so, and
    later parts; ``unknown`` is how many posts nobody can have seen arrive, at most.
    """

    verdict: Verdict
    events: int
    questions: int
    deliveries: int
    refused: int
    deaths: int
    answered_as_edited: int
    seconds: float = 0.0
    orphans: int = 0
    repeated: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Record:
    """What is kept of each question, by its mark, and how much work is left."""

    kept: Mapping[str, Interaction]
    unfinished: int


class Script(Protocol):
    """All that happens, to be sent within ``seconds``."""

    asked: list[AskedQuestion]
    sendings: list[ScheduledEvent]
    seconds: float


async def send_through_kills(
    script: Script,
    post: EventSender,
    answers: Callable[[], Answers],
    *,
    kills: int,
    draw: random.Random,
) -> float:
    """Send everything, kill the server meanwhile and once more at the end; return the seconds."""
    clock, server = asyncio.get_running_loop().time, post.server
    began = clock()
    await send_all(post, script.sendings, kills, draw=draw, seconds=script.seconds)
    await wait_until_settled(answers, script.asked)
    seconds = clock() - began
    await server.kill()
    await server.begin()
    await asyncio.sleep(QUIET_SECONDS)
    return seconds


async def run_of(
    script: Script, post: EventSender, seen: Answers, *, folder: Path, platform: Platform
) -> Run:
    """Return what came of a script, by what is seen and what is recorded."""
    record = await read_record(folder, platform, script.asked)
    return Run(
        verdict_of(seen, script.sendings, post, record),
        events=len(script.sendings),
        questions=len(script.asked),
        deliveries=post.sent,
        refused=post.refused.total(),
        deaths=post.server.deaths,
        answered_as_edited=sum("second" in "".join(shown) for shown in seen.values()),
    )


def chosen(module: str, said: str | None, *, events: int) -> argparse.Namespace:
    """Read the command line of a long run."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=said)
    parser.add_argument("--events", type=int, default=events)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forgetful", action="store_true")
    return parser.parse_args()


async def wait_until_settled(
    answers: Callable[[], Answers], asked: Sequence[AskedQuestion]
) -> None:
    """Wait until all is as it should be, or for so long that it never will."""

    def is_settled() -> bool:
        seen = answers()
        return all((each.mark in seen) is not each.deleted for each in asked)

    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_settled():  # noqa: ASYNC110 - it happens in another process
                await asyncio.sleep(_LOOK_SECONDS)


async def read_record(data_dir: Path, platform: Platform, asked: Sequence[AskedQuestion]) -> Record:
    store = await open_store(sqlite_url(data_dir))
    try:
        kept = {}
        for each in asked:
            place = Thread(platform, TENANT, each.channel, each.thread)
            named = Message(each.message_id, place, Person(""), "", datetime.now(UTC))
            if (found := await store.work.get(named.interaction_id)) is not None:
                kept[each.mark] = found
        return Record(kept, len(await store.work.unfinished()))
    finally:
        await store.close()


def verdict_of(
    seen: Answers, sendings: Sequence[ScheduledEvent], post: EventSender, record: Record
) -> Verdict:
    edits = {each.asked.mark: post.taken[id(each)] for each in sendings if each.edits}
    asked = list({each.asked.mark: each.asked for each in sendings}.values())

    def amended(one: AskedQuestion) -> bool:
        """An edit that was acknowledged before there was an answer must be what is answered."""
        answered = record.kept[one.mark].finished_at
        in_time = answered is not None and edits[one.mark] < answered
        return not in_time or "second" in "".join(seen.get(one.mark, ["second"]))

    stay = [one for one in asked if not one.deleted]
    gone = [one for one in asked if one.deleted]
    return Verdict(
        lost=[one.mark for one in stay if one.mark not in seen],
        twice=[mark for mark, shown in seen.items() if len(shown) > 1],
        not_withdrawn=[one.mark for one in gone if one.mark in seen],
        not_amended=[one.mark for one in stay if one.edited and not amended(one)],
        not_forgotten=[one.mark for one in gone if record.kept[one.mark].message.text],
        unfinished=record.unfinished,
    )
