"""Tests of the one message of a run and of the lease that says whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from bot.chat.commands.run_leases import SILENT_SECONDS, RunLease, RunLeases
from bot.chat.commands.run_message import EDIT_SECONDS, Clock, NotTaken, RunMessage
from bot.chat.commands.run_status import RunStatus
from bot.domain.errors import DeliveryFailed
from bot.store.database import Store

ORDERED = RunLease("r1", "alice", "help", ordered_at=1_000.0)


@dataclass
class Played:
    """A platform and its clock; implements Screen. ``lost`` posts arrive and are not told."""

    seconds: float = 0.0
    lost: int = 0
    busy: int = 0
    posts: list[RunStatus] = field(default_factory=list)
    at: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        self.seconds += seconds

    async def has_outsiders(self, shown: RunLease) -> bool:
        return False

    async def link(self, shown: RunLease) -> str | None:
        return None

    async def direct(self, shown: RunLease) -> str:
        return f"direct:{shown.user}"

    def is_alone(self, place: str) -> bool:
        return place.startswith("direct:")

    async def post(self, shown: RunLease, told: RunStatus) -> str:
        self.at.append(self.seconds)
        if self.busy:
            self.busy -= 1
            raise NotTaken("It is too much now.")
        self.posts.append(told)
        if self.lost:
            self.lost -= 1
            raise DeliveryFailed("Nobody answered.")
        return f"m{len(self.posts)}"

    async def find(self, shown: RunLease, besides: str) -> str | None:
        return None

    async def edit(self, shown: RunLease, told: RunStatus) -> None:
        self.at.append(self.seconds)
        self.posts[int(shown.posted[1:]) - 1] = told


async def pages(screen: Played, *counts: int) -> AsyncIterator[RunStatus]:
    """Tell a run that goes on by these pages, and ends."""
    for count in counts:
        yield RunStatus(run_id="r1", state="running", pages=count, total=100)
        await screen.pause(0.5)
    yield RunStatus(run_id="r1", state="done", ended=True)


def message(screen: Played, store: Store) -> RunMessage:
    return RunMessage(
        ORDERED,
        screen=screen,
        leases=RunLeases(store.notes, "acme", "local", platform="chat", clock=screen.clock),
        time=Clock(screen.pause, screen.clock),
        new=True,
        elsewhere=lambda _: None,
    )


async def test_it_is_changed_every_two_seconds_at_most(store: Store) -> None:
    screen = Played()
    await message(screen, store).follow(pages(screen, *range(10)))

    assert len(screen.at) == 11
    assert all(later - earlier >= EDIT_SECONDS for earlier, later in pairwise(screen.at))
    assert [told.state for told in screen.posts] == ["done"]


async def test_a_post_in_doubt_is_repeated_once_and_then_at_the_end(store: Store) -> None:
    screen = Played(lost=2)
    await message(screen, store).follow(pages(screen, *range(10)))

    assert [told.pages for told in screen.posts[:2]] == [0, 1]
    assert [told.state for told in screen.posts] == ["running", "running", "done"]


async def test_what_was_certainly_not_taken_is_tried_each_time(store: Store) -> None:
    screen = Played(busy=5)
    await message(screen, store).follow(pages(screen, *range(10)))

    assert [told.state for told in screen.posts] == ["done"]


async def test_the_doubt_is_noted_before_posting_and_gone_after_it(store: Store) -> None:
    noted: list[tuple[int, str]] = []

    class Watched(Played):
        async def post(self, shown: RunLease, told: RunStatus) -> str:
            await self.look()
            return await super().post(shown, told)

        async def edit(self, shown: RunLease, told: RunStatus) -> None:
            await self.look()

        async def look(self) -> None:
            notes = RunLeases(store.notes, "acme", "local", platform="chat")
            shown = (await notes.every())["r1"]
            noted.append((shown.tries, shown.posted))

    screen = Watched(lost=1)
    await message(screen, store).follow(pages(screen, 1, 2, 3))

    assert noted == [(1, ""), (2, ""), (0, "m2"), (0, "m2")]


SHOWN = RunLease("r1", "alice", "help", ordered_at=1_000.0, place="help", posted="1.2")


@dataclass
class FakeClock:
    now: float = 1_000.0

    def read(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def notes(store: Store, clock: FakeClock, owner: str) -> RunLeases:
    return RunLeases(store.notes, "acme", owner, platform="chat", clock=clock.read)


async def left(store: Store, clock: FakeClock) -> RunLease:
    """Return what a process noted last."""
    dead = notes(store, clock, "dead")
    await dead.keep(SHOWN)
    return (await dead.every())["r1"]


async def test_a_note_says_where_a_run_is_shown_and_by_whom(store: Store, clock: FakeClock) -> None:
    assert await left(store, clock) == replace(SHOWN, owner="dead", beat=clock.now)


async def test_what_is_another_processs_is_left_to_it_while_it_speaks(
    store: Store, clock: FakeClock
) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS - 1
    assert not await notes(store, clock, "b").take(shown)
    assert await notes(store, clock, "dead").is_ours("r1")


async def test_what_a_silent_process_had_is_taken_by_one_of_many(
    store: Store, clock: FakeClock
) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS
    others = [notes(store, clock, f"p{number}") for number in range(5)]
    taken = await asyncio.gather(*(other.take(shown) for other in others))

    assert sum(taken) == 1
    assert await others[taken.index(True)].is_ours("r1")
    assert not await notes(store, clock, "dead").is_ours("r1")


async def test_who_took_over_and_died_at_once_does_not_hold_it_for_ever(
    store: Store, clock: FakeClock
) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS
    await store.notes.first(
        "acme", f"chat:reindex-taken:r1:{shown.beat:.3f}:{int(clock.now // SILENT_SECONDS)}"
    )
    assert not await notes(store, clock, "b").take(shown)
    clock.now += SILENT_SECONDS
    assert await notes(store, clock, "b").take(shown)


async def test_what_was_released_and_what_is_ones_own_is_taken_at_once(
    store: Store, clock: FakeClock
) -> None:
    shown = await left(store, clock)
    assert await notes(store, clock, "dead").take(shown)
    await notes(store, clock, "dead").release(shown)
    released = (await notes(store, clock, "b").every())["r1"]
    assert await notes(store, clock, "b").take(released)


async def test_what_has_ended_or_changed_meanwhile_is_not_taken(
    store: Store, clock: FakeClock
) -> None:
    shown = await left(store, clock)
    b = notes(store, clock, "b")
    await notes(store, clock, "dead").end("r1")
    clock.now += SILENT_SECONDS
    assert not await b.take(shown)
    assert not await b.is_ours("r1")
    await notes(store, clock, "c").keep(shown)
    assert not await b.take(shown)


async def test_at_the_end_nothing_is_left_noted(store: Store, clock: FakeClock) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS
    b = notes(store, clock, "b")
    await b.take(shown)
    await b.end("r1")
    assert await store.notes.beginning("acme", "chat:reindex") == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run_id": "r1", "colour": "red"}'])
async def test_a_note_of_another_version_is_left_alone(
    store: Store, clock: FakeClock, text: str
) -> None:
    await store.notes.put("acme", "chat:reindex:r1", text)
    assert await notes(store, clock, "b").every() == {}
