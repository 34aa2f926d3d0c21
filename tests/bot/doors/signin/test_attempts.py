from __future__ import annotations

from dataclasses import dataclass

from bot.web.auth.credentials import (
    MAX_WRONG_TOKENS,
    WRONG_TOKEN_PAUSE_SECONDS,
    WRONG_TOKEN_WINDOW_SECONDS,
    WrongTokenLimit,
)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_nine_wrong_tokens_hold_nobody_back() -> None:
    wrong = WrongTokenLimit(Clock())
    for _ in range(MAX_WRONG_TOKENS - 1):
        wrong.add()

    assert wrong.held_seconds == 0


def test_ten_within_a_minute_hold_for_a_minute() -> None:
    clock = Clock()
    wrong = WrongTokenLimit(clock)
    for _ in range(MAX_WRONG_TOKENS):
        wrong.add()
        clock.now += 1

    assert 0 < wrong.held_seconds <= WRONG_TOKEN_PAUSE_SECONDS
    clock.now += WRONG_TOKEN_PAUSE_SECONDS
    assert wrong.held_seconds == 0
    wrong.add()
    assert wrong.held_seconds == 0


def test_ten_over_a_longer_time_hold_nobody_back() -> None:
    clock = Clock()
    wrong = WrongTokenLimit(clock)
    for _ in range(3 * MAX_WRONG_TOKENS):
        wrong.add()
        clock.now += WRONG_TOKEN_WINDOW_SECONDS / (MAX_WRONG_TOKENS - 1)

    assert wrong.held_seconds == 0
