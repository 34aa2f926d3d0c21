"""Principals of an asker are cached, and in doubt are those of everyone and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from structlog.testing import capture_logs

from ingestion.confluence.person_finder import EVERYBODY, Accounts, Principals
from ingestion.errors import WikiUnavailable
from rag.types import Principal

ANN = frozenset({Principal("user:confluence:ann")})


@dataclass
class Finder:
    """Implements PersonFinder: knows Ann, and waits, fails and breaks on demand."""

    asked: Counter[str] = field(default_factory=Counter)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.open.set()

    async def find(self, email: str) -> Principals | None:
        self.asked[email] += 1
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return ANN if email == "ann@acme.example" else None


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def accounts(
    finder: Finder, clock: Clock | None = None, *, patience: float = 3.0, most: int = 10
) -> AsyncIterator[Accounts]:
    opened = Accounts(finder, seconds=600, patience=patience, most=most, clock=clock or Clock())
    try:
        yield opened
    finally:
        await opened.close()


async def test_an_answer_is_believed_for_its_time_whatever_the_case() -> None:
    finder, clock = Finder(), Clock()
    async with accounts(finder, clock) as known:
        for email in ("ann@acme.example", "Ann@ACME.example", " ann@acme.example"):
            assert await known.principals(email) == ANN | EVERYBODY
        clock.now = 599
        await known.principals("ann@acme.example")
        assert finder.asked.total() == 1

        clock.now = 600
        await known.principals("ann@acme.example")
        assert finder.asked.total() == 2


async def test_nobody_found_is_everyone() -> None:
    finder = Finder()
    async with accounts(finder) as known:
        assert await known.principals("bob@acme.example") == EVERYBODY
        assert await known.principals("bob@acme.example") == EVERYBODY
    assert finder.asked.total() == 1


async def test_a_failure_is_everyone_and_asked_again_after_a_minute() -> None:
    clock = Clock()
    for error in (WikiUnavailable("down"), ValueError("a defect")):
        finder = Finder(error=error)
        async with accounts(finder, clock) as known:
            assert await known.principals("ann@acme.example") == EVERYBODY
            finder.error = None
            assert await known.principals("ann@acme.example") == EVERYBODY
            clock.now += 60
            assert await known.principals("ann@acme.example") == ANN | EVERYBODY


async def test_what_was_known_is_not_believed_longer_because_asking_fails() -> None:
    finder, clock = Finder(), Clock()
    async with accounts(finder, clock) as known:
        await known.principals("ann@acme.example")
        finder.error, clock.now = WikiUnavailable("down"), 601
        assert await known.principals("ann@acme.example") == EVERYBODY


async def test_many_at_once_are_one_look_up() -> None:
    finder = Finder()
    finder.open.clear()
    async with accounts(finder) as known:
        asking = [asyncio.create_task(known.principals("ann@acme.example")) for _ in range(50)]
        await asyncio.sleep(0)
        finder.open.set()
        assert set(await asyncio.gather(*asking)) == {ANN | EVERYBODY}
    assert finder.asked.total() == 1


async def test_whoever_waits_too_long_is_everyone_and_the_look_up_goes_on() -> None:
    finder = Finder()
    finder.open.clear()
    async with accounts(finder, patience=0.01) as known:
        assert await known.principals("ann@acme.example") == EVERYBODY
        finder.open.set()
        assert await known.principals("ann@acme.example") == ANN | EVERYBODY
    assert finder.asked.total() == 1


async def test_one_who_goes_away_takes_nothing_along() -> None:
    finder = Finder()
    finder.open.clear()
    async with accounts(finder) as known:
        gone = asyncio.create_task(known.principals("ann@acme.example"))
        await asyncio.sleep(0)
        stays = asyncio.create_task(known.principals("ann@acme.example"))
        await asyncio.sleep(0)
        gone.cancel()
        finder.open.set()
        assert await stays == ANN | EVERYBODY


async def test_only_so_many_people_are_remembered() -> None:
    finder = Finder()
    async with accounts(finder, most=2) as known:
        for handle in ("ann", "bob", "ann", "cyd", "ann", "bob"):
            await known.principals(f"{handle}@acme.example")
    assert finder.asked == {"ann@acme.example": 1, "bob@acme.example": 2, "cyd@acme.example": 1}


async def test_trouble_is_logged_once_a_minute_without_an_address() -> None:
    clock = Clock()
    with capture_logs() as logs:
        async with accounts(Finder(error=WikiUnavailable("down")), clock) as known:
            for handle in ("ann", "bob", "cyd"):
                await known.principals(f"{handle}@acme.example")
            clock.now = 61
            await known.principals("dan@acme.example")
    assert [each["why"] for each in logs] == ["down", "down"]
    assert "acme" not in str(logs)


async def test_closing_ends_what_is_looked_up() -> None:
    finder = Finder()
    finder.open.clear()
    async with accounts(finder, patience=0.01) as known:
        assert await known.principals("ann@acme.example") == EVERYBODY
    assert len(asyncio.all_tasks()) == 1
