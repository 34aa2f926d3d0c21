"""Rates, over any rhythm of calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.bot.adapters.slack.workspace.rates import POST_BURST, Rates

PAUSES = st.lists(st.floats(min_value=0.0, max_value=3.0), min_size=1, max_size=60)


@given(pauses=PAUSES)
def test_no_channel_takes_more_than_a_burst_and_a_post_a_second(pauses: list[float]) -> None:
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    taken: list[float] = []
    for pause in pauses:
        clock[0] += pause
        if rates.wait("chat.postMessage", {"channel": "C1"}) == 0:
            taken.append(clock[0])
    for first, begin in enumerate(taken):
        for count, end in enumerate(taken[first:], start=1):
            assert count <= POST_BURST + (end - begin) + 1e-6


@given(pauses=PAUSES)
def test_who_waits_as_long_as_told_is_taken(pauses: list[float]) -> None:
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    for pause in pauses:
        clock[0] += pause
        wait = rates.wait("chat.postMessage", {"channel": "C1"})
        if wait:
            clock[0] += wait
            assert rates.wait("chat.postMessage", {"channel": "C1"}) == 0
