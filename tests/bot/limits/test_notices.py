from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from datetime import date
from typing import Any

from structlog.testing import capture_logs

from bot.answering.limit_notices import RefusalLog


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def at(clock: Clock, notices: RefusalLog, *seconds: float, key: str = "anna") -> None:
    for second in seconds:
        clock.now = second
        notices.refused("rate", key, {"person": key})


def told(logs: Sequence[MutableMapping[str, Any]]) -> list[tuple[str, int]]:
    return [(log["person"], log["not_logged_before"]) for log in logs if "person" in log]


def test_a_flood_is_a_line_a_minute_and_the_rest_is_counted() -> None:
    clock = Clock()
    with capture_logs() as logs:
        at(clock, RefusalLog(clock), 0, 1, 2, 59, 60, 61, 130)

    assert told(logs) == [("anna", 0), ("anna", 3), ("anna", 1)]


def test_each_key_has_a_line_of_its_own() -> None:
    clock, notices = Clock(), RefusalLog(Clock())
    with capture_logs() as logs:
        at(clock, notices, 0, key="anna")
        at(clock, notices, 1, key="ben")

    assert told(logs) == [("anna", 0), ("ben", 0)]


def test_each_limit_has_a_line_of_its_own() -> None:
    notices = RefusalLog(Clock())
    with capture_logs() as logs:
        notices.refused("rate", "anna", {})
        notices.refused("pause", "anna", {})

    assert [log["limit"] for log in logs] == ["rate", "pause"]


def test_what_a_flood_that_ended_left_out_is_told_with_the_next_refusal() -> None:
    clock = Clock()
    notices = RefusalLog(clock)
    with capture_logs() as logs:
        at(clock, notices, 0, 1, 2)
        at(clock, notices, 100, 200, key="ben")

    assert [log["event"] for log in logs] == [
        "limit.refused",
        "limit.refused_more",
        "limit.refused",
        "limit.refused",
    ]
    assert (logs[1]["key"], logs[1]["times"]) == ("anna", 2)


def test_who_was_told_of_long_ago_takes_no_memory() -> None:
    clock = Clock()
    notices = RefusalLog(clock)
    with capture_logs():
        for person in range(1000):
            at(clock, notices, person, key=f"p{person}")

    assert notices.remembered <= 61


def test_unknown_prices_are_told_once_a_day_for_each_tenant() -> None:
    notices = RefusalLog()
    with capture_logs() as logs:
        for day in (1, 1, 2):
            notices.unpriced("a", date(2026, 11, day), 7)
        notices.unpriced("b", date(2026, 11, 2), 7)

    assert [log["tenant"] for log in logs] == ["a", "a", "b"]
