from __future__ import annotations

from dataclasses import dataclass

from bot.doors.signin.attempts import HELD_SECONDS, MOST, WITHIN_SECONDS, WrongTokens


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_nine_wrong_tokens_hold_nobody_back() -> None:
    wrong = WrongTokens(Clock())
    for _ in range(MOST - 1):
        wrong.add()

    assert wrong.held_seconds == 0


def test_ten_within_a_minute_hold_for_a_minute() -> None:
    clock = Clock()
    wrong = WrongTokens(clock)
    for _ in range(MOST):
        wrong.add()
        clock.now += 1

    assert 0 < wrong.held_seconds <= HELD_SECONDS
    clock.now += HELD_SECONDS
    assert wrong.held_seconds == 0
    wrong.add()
    assert wrong.held_seconds == 0


def test_ten_over_a_longer_time_hold_nobody_back() -> None:
    clock = Clock()
    wrong = WrongTokens(clock)
    for _ in range(3 * MOST):
        wrong.add()
        clock.now += WITHIN_SECONDS / (MOST - 1)

    assert wrong.held_seconds == 0
