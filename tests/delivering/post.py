"""What is asked, and the way of its events to a server that is killed meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.delivering.lives import Lives

RETRY_SECONDS = 3.0
LONGEST_RETRY_SECONDS = 24.0
"""Who is not answered waits longer each time, as on platforms: or a slow server never recovers."""
_COPIES = (1, 2, 3, 4)
_COPY_WEIGHTS = (50, 25, 15, 10)
_APART_SECONDS = 3.0
"""Within so long all copies of what belongs together are sent, in any order."""


@dataclass
class Asked:
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
class Sending:
    """One event, when its copies are sent, and what it is about. Times are in seconds.

    ``edits``: it tells of an edit.
    """

    event: Mapping[str, Any]
    times: tuple[float, ...]
    asked: Asked
    edits: bool = False


Knock = Callable[[Sending, int], Awaitable[int]]
"""Sends an event for the so many-th time; returns the status, 0 when no answer came."""


@dataclass
class Post:
    """What became of the sendings; times are the clock's."""

    server: Lives
    knock: Knock
    sent: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    taken: dict[int, datetime] = field(default_factory=dict)

    async def send(self, sending: Sending, began: float) -> None:
        """Send all copies at their times, and then until one is acknowledged."""
        copies = (self._copy(sending, at, number, began) for number, at in enumerate(sending.times))
        await asyncio.gather(*copies)
        number, pause = len(sending.times), RETRY_SECONDS
        while id(sending) not in self.taken:
            await self.server.up.wait()
            await asyncio.sleep(random.random() * pause)  # noqa: S311 - no secret
            await self._copy(sending, 0.0, number, began)
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)

    async def _copy(self, sending: Sending, at: float, number: int, began: float) -> None:
        await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
        self.sent += 1
        status = await self.knock(sending, number)
        if status == 200:
            self.taken.setdefault(id(sending), datetime.now(UTC))
        else:
            self.refused[status] += 1


def moments(at: float, draw: random.Random) -> tuple[float, ...]:
    """Return when the copies of an event of that time are sent: up to four."""
    copies = draw.choices(_COPIES, _COPY_WEIGHTS)[0]
    return tuple(sorted(at + draw.uniform(0, _APART_SECONDS) for _ in range(copies)))


async def all_sent(
    post: Post, sendings: Sequence[Sending], kills: int, *, draw: random.Random, seconds: float
) -> None:
    """Send everything at its time, and kill the server so often meanwhile."""
    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        group.create_task(_kill(post.server, [*_moments(kills, draw, seconds)], began))
        for sending in sendings:
            group.create_task(post.send(sending, began))


async def _kill(server: Lives, at: Sequence[float], began: float) -> None:
    for moment in at:
        await asyncio.sleep(max(0.0, began + moment - asyncio.get_running_loop().time()))
        await server.kill()
        await server.begin()


def _moments(kills: int, draw: random.Random, seconds: float) -> Iterator[float]:
    yield from sorted(draw.uniform(1, seconds) for _ in range(kills))
