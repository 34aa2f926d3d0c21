"""Whose a run's message is: one process's at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from bot.chat.commands.run_leases import SILENT_SECONDS, RunLease, RunLeases
from bot.store.database import Store

SHOWN = RunLease("r1", "alice", "help", ordered_at=1_000.0, place="help", posted="1.2")


@dataclass
class Clock:
    now: float = 1_000.0

    def read(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def notes(store: Store, clock: Clock, owner: str) -> RunLeases:
    return RunLeases(store.notes, "acme", owner, platform="chat", clock=clock.read)


async def left(store: Store, clock: Clock) -> RunLease:
    """Return what a process noted last."""
    dead = notes(store, clock, "dead")
    await dead.keep(SHOWN)
    return (await dead.every())["r1"]


async def test_a_note_says_where_a_run_is_shown_and_by_whom(store: Store, clock: Clock) -> None:
    assert await left(store, clock) == replace(SHOWN, owner="dead", beat=clock.now)


async def test_what_is_another_processs_is_left_to_it_while_it_speaks(
    store: Store, clock: Clock
) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS - 1
    assert not await notes(store, clock, "b").take(shown)
    assert await notes(store, clock, "dead").is_ours("r1")


async def test_what_a_silent_process_had_is_taken_by_one_of_many(
    store: Store, clock: Clock
) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS
    others = [notes(store, clock, f"p{number}") for number in range(5)]
    taken = await asyncio.gather(*(other.take(shown) for other in others))

    assert sum(taken) == 1
    assert await others[taken.index(True)].is_ours("r1")
    assert not await notes(store, clock, "dead").is_ours("r1")


async def test_who_took_over_and_died_at_once_does_not_hold_it_for_ever(
    store: Store, clock: Clock
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
    store: Store, clock: Clock
) -> None:
    shown = await left(store, clock)
    assert await notes(store, clock, "dead").take(shown)
    await notes(store, clock, "dead").release(shown)
    released = (await notes(store, clock, "b").every())["r1"]
    assert await notes(store, clock, "b").take(released)


async def test_what_has_ended_or_changed_meanwhile_is_not_taken(store: Store, clock: Clock) -> None:
    shown = await left(store, clock)
    b = notes(store, clock, "b")
    await notes(store, clock, "dead").end("r1")
    clock.now += SILENT_SECONDS
    assert not await b.take(shown)
    assert not await b.is_ours("r1")
    await notes(store, clock, "c").keep(shown)
    assert not await b.take(shown)


async def test_at_the_end_nothing_is_left_noted(store: Store, clock: Clock) -> None:
    shown = await left(store, clock)
    clock.now += SILENT_SECONDS
    b = notes(store, clock, "b")
    await b.take(shown)
    await b.end("r1")
    assert await store.notes.beginning("acme", "chat:reindex") == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run_id": "r1", "colour": "red"}'])
async def test_a_note_of_another_version_is_left_alone(
    store: Store, clock: Clock, text: str
) -> None:
    await store.notes.put("acme", "chat:reindex:r1", text)
    assert await notes(store, clock, "b").every() == {}
