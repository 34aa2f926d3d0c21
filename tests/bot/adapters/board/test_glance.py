"""What is told of a span: against the one before, also where a figure is nought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bot.domain.record_reports import (
    KINDS,
    Day,
    Figures,
    Percentiles,
    QuestionKind,
    days_in,
    earlier_span,
    last_days,
)
from bot.web.board.overview import KIND_LABELS, SHORTENED_NOTE, ComparedSpan, span_context
from tests.builders import NOON

WEEK = last_days(NOON, 7)


def figures(kinds: Mapping[QuestionKind, int]) -> Figures:
    """All of a week's questions came on its last day."""
    *quiet, last = days_in(WEEK)
    return Figures(WEEK, (*(Day(day, {}) for day in quiet), Day(last, kinds)))


def words(now: Figures, then: Figures) -> str:
    earlier = replace(then, span=earlier_span(WEEK, 7))
    return str(span_context(ComparedSpan(7, now, earlier, (), ()))["words"]).replace(
        "\N{NO-BREAK SPACE}", " "
    )


@pytest.mark.parametrize(
    ("asked", "earlier", "said"),
    [
        (0, 0, "Nobody asked anything in the last 7 days; in the 7 before it was 0 questions."),
        (3, 0, "3 questions came in, none in the 7 days before"),
        (3, 3, "3 questions came in, as many as in the 7 days before"),
        (1, 2, "1 question came in, 1 fewer"),
    ],
)
def test_a_span_is_told_against_the_one_before(asked: int, earlier: int, said: str) -> None:
    now, then = figures({"generic": asked}), figures({"generic": earlier})

    assert said in words(now, then)


def test_a_share_of_nothing_before_is_told_too() -> None:
    now, then = figures({"answered": 3, "escalated": 1}), figures({"escalated": 2})

    assert "75 % were answered without a person (before: 0 %)" in words(now, then)


def test_a_share_that_was_not_before_is_not_compared() -> None:
    now, then = figures({"answered": 1}), figures({"generic": 2})

    assert "100 % were answered without a person." in words(now, then)


def test_times_are_told_only_where_something_was_timed() -> None:
    now = figures({"answered": 1})

    assert "Half of the answers" not in words(now, now)
    timed = replace(now, answering=Percentiles(1, 1.2, 3.0))
    assert "Half of the answers took at most 1.2 s." in words(timed, now)


def test_what_was_not_counted_is_said_of_either_span() -> None:
    whole = figures({"answered": 1})
    part = replace(whole, shortened=True)

    for now, then, said in (
        (whole, whole, ""),
        (part, whole, SHORTENED_NOTE),
        (whole, part, SHORTENED_NOTE),
    ):
        assert span_context(ComparedSpan(7, now, then, (), ()))["shortened"] == said


def test_what_was_left_alone_is_told_beside_the_questions() -> None:
    quiet, busy = figures({"answered": 1}), figures({"answered": 1, "silent": 12})

    assert "Left alone" not in words(quiet, quiet)
    said = words(busy, quiet)
    assert "1 question came in, as many as" in said
    assert said.endswith("Left alone, as nobody had asked the bot: 12 more messages.")


def test_every_kind_of_outcome_has_a_name() -> None:
    assert set(KIND_LABELS) == set(KINDS) - {"silent"}
