"""Tests of flood control, and of whom a limit is told to and how often."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.answering.admission import Admission
from bot.answering.limit_reports import AskerNotices, RefusalLog
from bot.answering.limits import FLOOD_FACTOR, FloodControl, LimitChecks
from bot.domain.errors import RateExceeded
from bot.domain.messages import Inquiry, Message, Person, Refusal
from bot.domain.outcomes import refused_outcome
from bot.domain.usage import UsageLimits
from bot.store.database import Store
from tests.fakes.builders import NOON, message
from tests.fakes.durable_inbox import record_answer
from tests.fakes.usage_ledger import Door, Ledger


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


SLACK = frozenset({"slack"})


def admission(store: Store, ledger: Ledger | None = None) -> Admission:
    """Return the admission of one process; the record is that of all."""
    limits = LimitChecks(
        UsageLimits(per_user=2 if ledger else 0),
        use=ledger or store.counting,
        current_pause=store.pauses.current,
        log=RefusalLog(),
        notices=AskerNotices(store.notes, SLACK),
    )
    return Door().within(limits)


def said(number: int, *, by_bot: bool) -> Message:
    asked = message(f"And {number}?", message_id=f"m{number}", platform="slack", private=False)
    return replace(asked, by_bot=by_bot)


async def silences(store: Store, *messages: Message) -> list[bool]:
    """Have messages answered one after the other; tell which were left alone."""
    silent = []
    for asked in messages:
        await store.work.open(asked, "me")
        admitted = await admission(store).admit(asked)
        silent.append(isinstance(admitted, Refusal))
        outcome = "Yes." if isinstance(admitted, Inquiry) else refused_outcome(asked, admitted)
        await record_answer(store, asked, outcome)
    return silent


@pytest.mark.mended(id="slack-8")
async def test_another_bot_has_three_turns_until_a_person_speaks(store: Store) -> None:
    bots = [said(number, by_bot=True) for number in range(30)]
    person = said(30, by_bot=False)
    later = [said(number, by_bot=True) for number in range(31, 36)]

    assert await silences(store, *bots) == [False] * 3 + [True] * 27
    assert await silences(store, person, *later) == [False] * 4 + [True] * 2
    kept = await store.interactions.get(later[-1].interaction_id)
    assert kept is not None
    assert kept.outcome is not None
    assert kept.outcome.silent


@pytest.mark.mended(id="slack-8")
async def test_all_processes_together_tell_a_limit_once_a_minute(store: Store) -> None:
    ledger = Ledger()
    flood = [ledger.arrive(50 + number / 2) for number in range(40)]
    later = [ledger.arrive(115 + number) for number in range(4)]
    for each in (*flood, *later):
        await store.work.open(each, "me")

    told = [(each, await admission(store, ledger).admit(each)) for each in (*flood, *later)]

    heard = [each.received_at - NOON for each, one in told if _is_said(one)]
    assert heard == [timedelta(seconds=51), timedelta(seconds=115)]
    assert await admission(store, ledger).admit(flood[2]) == told[2][1]


def _is_said(told: Inquiry | Refusal) -> bool:
    return isinstance(told, Refusal) and not told.silent


@pytest.mark.mended(id="slack-8")
async def test_who_fetches_each_reply_is_told_of_each_limit(store: Store) -> None:
    notices = AskerNotices(store.notes, SLACK)
    asked = [message("hi", message_id=name, platform="rest") for name in ("m1", "m2")]

    assert [await notices.due(each, "limit") for each in asked] == [True, True]


@pytest.mark.mended(id="slack-8")
def test_no_bot_is_told_of_a_limit() -> None:
    limit = Refusal("Later.", "rate", ephemeral=True)

    outcomes = [refused_outcome(said(1, by_bot=by_bot), limit) for by_bot in (True, False)]

    assert [(each.silent, each.ephemeral) for each in outcomes] == [(True, True), (False, True)]


MOST = 2


class Minute:
    """A gate with a clock of its own, and what it dropped."""

    def __init__(self, limits: UsageLimits) -> None:
        self.now = 0.0
        self.dropped: list[Message] = []
        self.floods = FloodControl(
            limits, RefusalLog(lambda: self.now), self.dropped.append, self.clock
        )

    def clock(self) -> float:
        return self.now

    def takes(self, asked: Message) -> bool:
        with capture_logs():
            try:
                self.floods.check(asked)
            except RateExceeded:
                return False
        return True


def by(person: str, number: int) -> Message:
    return replace(message("hi", message_id=f"{person}{number}"), author=Person(person))


@pytest.mark.parametrize("limits", [UsageLimits(per_user=MOST), UsageLimits(per_channel=MOST)])
def test_three_times_a_rate_is_taken_and_no_more_until_it_is_over(limits: UsageLimits) -> None:
    minute = Minute(limits)

    taken = [minute.takes(by("anna", number)) for number in range(FLOOD_FACTOR * MOST + 2)]
    minute.now = 60.0

    assert taken == [True] * FLOOD_FACTOR * MOST + [False] * 2
    assert len(minute.dropped) == 2
    assert minute.takes(by("anna", 99))


def test_what_was_taken_is_taken_again_when_it_is_sent_again() -> None:
    minute = Minute(UsageLimits(per_user=1))
    for _ in range(5):
        assert minute.takes(by("anna", 0))
    assert minute.takes(by("anna", 1))
    assert minute.takes(by("anna", 2))

    assert not minute.takes(by("anna", 3))
    assert minute.takes(by("anna", 1))


def test_one_who_floods_holds_nobody_else_back() -> None:
    minute = Minute(UsageLimits(per_user=1))
    for number in range(10):
        minute.takes(by("flo", number))

    assert minute.takes(by("anna", 0))


def test_ordinary_talk_takes_nothing_from_who_asks() -> None:
    minute = Minute(UsageLimits(per_channel=1))
    for number in range(10):
        minute.takes(replace(by("anna", number), overheard=True))

    assert minute.takes(by("ben", 0))


def test_without_rates_nothing_is_held_back() -> None:
    minute = Minute(UsageLimits())

    assert all(minute.takes(by("anna", number)) for number in range(100))
    assert minute.floods.remembered == 0


def test_who_is_quiet_for_a_minute_is_forgotten() -> None:
    minute = Minute(UsageLimits(per_user=1))
    for number in range(50):
        minute.takes(by(f"p{number}", 0))
    minute.now = 60.0
    minute.takes(by("anna", 0))

    assert minute.floods.remembered == 1
