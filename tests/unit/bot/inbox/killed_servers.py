"""Servers that are killed one after the other, until one is left that finishes the work.

``python -m tests.unit.bot.inbox.killed_servers FOLDER POINTS=ADDRESS...``

Each of POINTS names where the first server dies, and the next, and so on, joined by commas; ADDRESS
is the PostgreSQL record that they share, or ``-`` for a file. Desk and platform are files in
FOLDER. Prints, as JSON by POINTS, how often each reply is on the platform, what is not finished,
and how each server ended.

Each server has a name of its own in record and engine, as each start has.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bot.app.worker import BuiltInbox
from bot.domain.interactions import Delivery, Outcome, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Platform
from bot.domain.urls import with_driver
from bot.inbox import heartbeat
from bot.inbox.engine import DbosEngine
from bot.inbox.worker import WorkLimits
from bot.observability.logs import set_up_logs
from bot.store.database import Store, open_store, sqlite_url
from tests.fakes.bot_ports import EchoDesk, generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import inbox_over, wait_until_posted

POINTS = (
    *("opened", "begun,claimed", "answering", "answered", "recorded,posting_again"),
    *("posting", "posted,looked_up", "noted", "ended"),
)
CHAINS = (
    *("opened,answered,posted", "begun,claimed,posting", "answering,recorded,looked_up"),
    *("recorded,posting_again", "noted", "ended"),
)
"""Every point as well, in fewer servers."""

AT_ONCE = 4
QUESTIONS = 3
PASSES = 2
"""The first server dies when it comes to its point the second time: one question is past it, one is
at it, one is before it."""

Step = Callable[..., Awaitable[Any]]


@dataclass
class Death:
    """Kills this process at a point."""

    point: str
    passes: int

    def at(self, point: str) -> None:
        self.passes -= point == self.point
        if self.passes == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(self, owner: object, step: str, point: str) -> None:
        """Make a step of the record or the engine end at a point."""
        real: Step = getattr(owner, step)

        async def then(*given: object, **named: object) -> object:
            result = await real(*given, **named)
            self.at(point)
            return result

        setattr(owner, step, then)


@dataclass
class Board:
    """A platform in a file, a line a post; it can be asked."""

    file: Path
    death: Death
    platform: Platform = "slack"

    def lines(self) -> list[str]:
        return self.file.read_text().split() if self.file.exists() else []

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None: ...

    async def deliver(self, delivery: Delivery) -> PostedRef:
        self.death.at("posting")
        with self.file.open("a") as file:
            file.write(f"{delivery.id}\n")
        self.death.at("posted")
        return PostedRef("board", delivery.id)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        there = delivery.id in self.lines()
        self.death.at("looked_up")
        return PostedRef("board", delivery.id) if there else None


@dataclass(frozen=True)
class Place:
    """Where the servers run."""

    folder: Path
    address: str

    @property
    def alone(self) -> bool:
        return self.address == "-"

    async def store(self) -> Store:
        return await open_store(
            sqlite_url(self.folder) if self.alone else with_driver(self.address)
        )

    def engine(self, executor: str) -> DbosEngine:
        file = f"sqlite:///{self.folder / 'engine.sqlite'}"
        return DbosEngine(file if self.alone else with_driver(self.address), executor)


def _name(points: str, number: int) -> str:
    return f"{points}-{number}"


def questions(points: str) -> list[Message]:
    return [
        message(
            f"question {n}", message_id=f"{points}-{n}", platform="slack", thread=f"{points}{n}"
        )
        for n in range(QUESTIONS)
    ]


def mortal(store: Store, engine: DbosEngine, board: Board, *, alone: bool) -> BuiltInbox:
    """Join an inbox that dies at the board's death."""
    death = board.death

    async def answer(asked: Message) -> Outcome:
        death.at("answering")
        await asyncio.sleep(0)
        death.at("answered")
        return generic_outcome(f"You said: {asked.text}")

    steps = {"open": "opened", "claim": "claimed", "close": "recorded"}
    for step, point in (steps | {"posting": "posting_again", "posted": "noted"}).items():
        death.after(store.work, step, point)
    death.after(engine, "begin", "begun")
    opened = inbox_over(
        store,
        desk=EchoDesk(answer),
        channels={board.platform: board},
        limits=WorkLimits(drain_seconds=2),
        engine=engine,
        alone=alone,
    )
    death.after(opened.inbox, "run", "ended")
    return opened


def serve(place: Place, points: str, number: int) -> None:
    """Be one of the servers; the last one finishes what the others left."""
    setattr(heartbeat, "_BEAT_SECONDS", 0.3)  # noqa: B010 - a round of the test's own length
    asyncio.run(_serve(place, points, number))


async def _serve(place: Place, points: str, number: int) -> None:
    deaths = points.split(",")
    last = number == len(deaths)
    store = await place.store()
    for dead in range(0 if place.alone else number):
        await store.replicas.prolong(_name(points, dead), seconds=0)
    death = Death("" if last else deaths[number], 1 if number else PASSES)
    board = Board(place.folder / "posts", death)
    acknowledged = place.folder / "acknowledged"
    opened = mortal(store, place.engine(_name(points, number)), board, alone=place.alone)
    await opened.supervisor.start()
    if number == 0:
        for asked in questions(points):
            accepted = await opened.inbox.accept(asked)
            with acknowledged.open("a") as file:
                file.write(f"{accepted}\n")
    if not last:
        await asyncio.sleep(20)
        return
    kept = acknowledged.read_text().split() if acknowledged.exists() else []
    for each in kept:
        await wait_until_posted(store, InteractionId(each), every=0.1)
    for asked in questions(points):
        await wait_until_posted(store, await opened.inbox.accept(asked), every=0.1)


def forked(work: Callable[[], None]) -> int:
    """Run in a child; return its id. Forking spares the second that importing takes."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def waited(child: int) -> int:
    """Return how a child ended: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def unfinished(place: Place) -> int:
    store = await place.store()
    left = await store.work.unfinished()
    await store.close()
    return len(left)


def run(place: Place, points: str) -> dict[str, object]:
    """Kill servers at points, let one finish, and tell what is seen."""
    servers = len(points.split(",")) + 1
    ends = [waited(forked(partial(serve, place, points, n))) for n in range(servers)]
    posts = Counter(Board(place.folder / "posts", Death("", 0)).lines())
    return {
        "posts": [posts[f"{asked.interaction_id}:reply"] for asked in questions(points)],
        "unfinished": asyncio.run(unfinished(place)),
        "ends": ends,
    }


def report(place: Place, points: str) -> None:
    (place.folder / "seen.json").write_text(json.dumps(run(place, points)))


def main(arguments: Sequence[str]) -> None:
    set_up_logs("error")
    plans = dict(argument.split("=", 1) for argument in arguments[1:])
    places = {}
    for points, address in plans.items():
        places[points] = Place(Path(arguments[0]) / points, address)
        places[points].folder.mkdir()
    waiting = list(places)
    while waiting:
        some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        for child in [forked(partial(report, places[points], points)) for points in some]:
            waited(child)
    seen = {
        points: json.loads((place.folder / "seen.json").read_text())
        for points, place in places.items()
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1:])
