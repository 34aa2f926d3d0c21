from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.answering.flood_control import FLOOD_FACTOR, FloodControl
from bot.answering.limit_notices import RefusalLog
from bot.domain.errors import RateExceeded
from bot.domain.messages import Message, Person
from bot.domain.usage import UsageLimits
from tests.builders import message

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
