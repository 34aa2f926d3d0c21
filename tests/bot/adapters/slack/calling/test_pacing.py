"""Slack's rates are kept, by everybody, in the order of asking."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.client.api import RateLimiter
from tests.bot.adapters.slack.clock import Clock

POST, UPDATE = "chat.postMessage", "chat.update"


@pytest.fixture
def pacing(clock: Clock) -> RateLimiter:
    return RateLimiter(clock.pause, clock.read)


async def test_a_channel_is_written_to_once_a_second(pacing: RateLimiter, clock: Clock) -> None:
    for _ in range(4):
        await pacing.take(POST, "C1")
    assert clock.waits == [1.0, 1.0, 1.0]


async def test_another_channel_does_not_wait_for_the_first(
    pacing: RateLimiter, clock: Clock
) -> None:
    await pacing.take(POST, "C1")
    await pacing.take(POST, "C2")
    assert not clock.waits


@given(
    st.sampled_from([("reactions.remove", 20), (UPDATE, 50), ("chat.postEphemeral", 100)]),
    st.lists(st.floats(min_value=0, max_value=40), min_size=150, max_size=200),
)
def test_no_minute_has_more_calls_than_its_tier_allows(
    tier: tuple[str, int], gaps: list[float]
) -> None:
    method, most = tier
    clock = Clock()
    pacing = RateLimiter(clock.pause, clock.read)
    calls: list[float] = []

    async def run() -> None:
        for gap in gaps:
            clock.now += gap if gap > 20 else 0
            await pacing.take(method)
            calls.append(clock.now)

    asyncio.run(run())
    for at, begin in enumerate(calls):
        assert sum(begin <= call < begin + 60 for call in calls[at:]) <= most


async def test_what_slack_refuses_is_refused_to_everybody_until_it_ends(
    pacing: RateLimiter, clock: Clock
) -> None:
    pacing.hold(UPDATE, "", 30)
    assert pacing.held(UPDATE) == 30
    assert not pacing.take_now(UPDATE)
    await pacing.take(UPDATE)
    assert clock.now == 1_030
    assert pacing.held(UPDATE) == 0


async def test_a_hold_that_comes_while_one_waits_is_waited_out_as_well() -> None:
    clock = Clock()

    async def pause(seconds: float) -> None:
        if clock.now < 1_001:
            paced.hold(POST, "C1", 10)
        await clock.pause(seconds)

    paced = RateLimiter(pause, clock.read)
    await paced.take(POST, "C1")
    await paced.take(POST, "C1")
    assert clock.now == 1_010


async def test_what_may_be_skipped_is_told_that_there_is_no_room(
    pacing: RateLimiter, clock: Clock
) -> None:
    assert pacing.take_now(POST, "C1")
    assert not pacing.take_now(POST, "C1")
    clock.now += 1
    assert pacing.take_now(POST, "C1")
    assert not clock.waits


async def test_whoever_asked_first_goes_first_also_when_one_gives_up() -> None:
    clock, gate = Clock(), asyncio.Event()
    went: list[int] = []

    async def pause(seconds: float) -> None:
        await gate.wait()
        await clock.pause(seconds)

    pacing = RateLimiter(pause, clock.read)

    async def go(number: int) -> None:
        await pacing.take(POST, "C1")
        went.append(number)

    tasks = [asyncio.create_task(go(number)) for number in range(6)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[3].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert went == [0, 2, 4, 5]
    assert clock.now == 1_003


async def test_looking_for_an_opening_takes_nothing_away(pacing: RateLimiter, clock: Clock) -> None:
    await pacing.take(POST, "C1")
    await pacing.opening(POST, "C1")
    await pacing.opening(POST, "C1")
    assert clock.waits == [1.0]
    assert pacing.take_now(POST, "C1")
