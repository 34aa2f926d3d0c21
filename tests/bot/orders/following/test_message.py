"""The one message of a run, on a platform that can't be asked what was posted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import pairwise

from bot.chat.commands.run_leases import RunLease, RunLeases
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

    async def place_of(self, shown: RunLease) -> str:
        return shown.channel

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
        notes=RunLeases(store.notes, "acme", "local", platform="chat", clock=screen.clock),
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
