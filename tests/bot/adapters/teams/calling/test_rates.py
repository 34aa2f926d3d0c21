"""How often Teams is called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.platforms.teams.client.errors import RateLimited
from bot.platforms.teams.client.rate_limits import (
    OVERALL_LIMITS,
    SEND_LIMITS,
    CallWindow,
    RateLimit,
    RateLimiter,
    Timing,
)
from tests.bot.adapters.teams.calling.clock import Passing

PATIENT = 10_000.0


def rates(clock: Passing) -> RateLimiter:
    return RateLimiter(Timing(clock.pause, clock.now, lambda: 0.0))


async def taken(paced: RateLimiter, room: str = "a", patience: float = PATIENT) -> float:
    return await paced.take(room, SEND_LIMITS, now=paced.now(), patience_seconds=patience)


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def most_within(times: Sequence[float], seconds: float) -> int:
    return max(sum(at <= other < at + seconds for other in times) for at in times)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=200), st.lists(st.booleans(), max_size=9))
def test_no_span_ever_has_more_calls_than_teams_takes(
    gaps: list[float], optional: list[bool]
) -> None:
    windows, now, times = CallWindow(SEND_LIMITS), 0.0, []
    for number, gap in enumerate(gaps):
        now += gap
        may_be_left_out = bool(optional) and optional[number % len(optional)]
        at = windows.next(now, optional=may_be_left_out)
        if may_be_left_out and at > now:
            continue
        windows.give(at)
        times.append(at)
    assert times == sorted(times)
    for span in SEND_LIMITS:
        assert not times or most_within(times, span.seconds) <= span.most


async def test_an_hours_worth_of_calls_is_spread_over_an_hour() -> None:
    clock = Passing()
    paced = rates(clock)
    times = [await taken(paced) for _ in range(2_000)]
    for span in SEND_LIMITS:
        assert most_within(times, span.seconds) <= span.most
    assert times[1_800] - times[0] >= 3_600


async def test_many_who_call_at_once_are_given_turns_in_order() -> None:
    paced, done = RateLimiter(Timing(_at_once, lambda: 0.0)), []

    async def call(number: int) -> None:
        at = await taken(paced)
        done.append((at, number))

    await asyncio.gather(*(call(number) for number in range(40)))
    assert [number for _, number in sorted(done)] == list(range(40))
    assert most_within([at for at, _ in done], 2.0) <= 8


async def test_no_more_than_thirty_calls_a_second_go_out_in_all() -> None:
    clock = Passing()
    paced = rates(clock)
    times = [await taken(paced, room=f"room {number}") for number in range(100)]
    assert most_within(times, 1.0) == OVERALL_LIMITS[0].most


async def test_a_busy_conversation_holds_up_no_other() -> None:
    clock = Passing()
    paced = rates(clock)
    for _ in range(60):
        await taken(paced)
    clock.seconds += 2.0
    clock.waits.clear()
    await taken(paced, room="b")
    assert not clock.waits


async def test_what_may_be_left_out_leaves_room_for_replies() -> None:
    clock = Passing()
    paced = rates(clock)
    for _ in range(5):
        await taken(paced, patience=0.0)
    with pytest.raises(RateLimited):
        await taken(paced, patience=0.0)
    await taken(paced)
    await taken(paced)
    assert not clock.waits


async def test_who_would_wait_too_long_is_told_how_long_and_takes_no_turn() -> None:
    clock = Passing()
    paced = rates(clock)
    for _ in range(60):
        await taken(paced)
    for _ in range(3):
        with pytest.raises(RateLimited) as busy:
            await taken(paced, patience=5.0)
    wait = busy.value.retry_after_seconds or 0.0
    assert wait > 5.0
    clock.seconds += wait
    clock.waits.clear()
    await taken(paced, patience=5.0)
    assert not clock.waits


async def test_where_teams_says_to_wait_everybody_waits() -> None:
    clock = Passing()
    paced = rates(clock)
    paced.hold("a", SEND_LIMITS, until=clock.now() + 4.0)
    with pytest.raises(RateLimited):
        await taken(paced, patience=0.0)
    await taken(paced, room="b", patience=0.0)
    await taken(paced)
    assert clock.waits == [pytest.approx(4.0)]


async def test_a_long_wait_is_spread() -> None:
    clock = Passing()
    chances = iter([0.0, 0.5, 1.0])
    spread = RateLimiter(Timing(clock.pause, clock.now, lambda: next(chances)))
    for _ in range(3):
        await spread.wait(4.0, now=clock.now())
    assert clock.waits == [4.0, 4.5, 5.0]


async def test_no_more_conversations_are_kept_than_a_bound() -> None:
    clock = Passing()
    paced = rates(clock)
    for number in range(6_000):
        await taken(paced, room=f"room {number}")
    assert len(paced._rooms) == 5_000  # noqa: SLF001


def test_a_window_keeps_no_more_times_than_it_looks_at() -> None:
    windows = CallWindow((RateLimit(3, 1.0, 2),))
    for _ in range(10):
        windows.give(windows.next(0.0))
    assert windows.next(0.0) == pytest.approx(3 * 1.05)
