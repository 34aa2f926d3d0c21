"""From what somebody typed into the filters to what is looked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.interactions import ConfidenceLevel
from bot.domain.messages import Intent
from bot.domain.record_search import FeedbackQuery, QuestionQuery
from bot.web.board.layout import MAX_FIELD_LENGTH, FilterForm, feedback_query, question_query

NAMES = ("words", "kind", "intent", "platform", "person", "vote", "since", "until", "least", "most")


def test_nothing_typed_narrows_nothing() -> None:
    assert question_query(FilterForm({})) == QuestionQuery()
    assert feedback_query(FilterForm({})) == FeedbackQuery()


def test_all_that_is_typed_is_looked_for() -> None:
    fields = FilterForm({"words": " vpn ", "kind": "RAG", "intent": "DOMAIN", "vote": "none"})

    assert question_query(fields) == QuestionQuery(
        words="vpn", answer_type="RAG", intent=Intent.DOMAIN, vote="none"
    )


@pytest.mark.parametrize("level", ["partial", "unsure"])
def test_parts_and_guesses_are_looked_for_by_themselves(level: ConfidenceLevel) -> None:
    assert question_query(FilterForm({"kind": level})) == QuestionQuery(level=level)


def test_both_days_are_included() -> None:
    query = question_query(FilterForm({"since": "2026-11-21", "until": "2026-11-22"}))

    assert query.since == datetime(2026, 11, 21, tzinfo=UTC)
    assert query.until == datetime(2026, 11, 23, tzinfo=UTC)


@pytest.mark.parametrize(("typed", "share"), [("0", 0.0), ("65", 0.65), ("65%", 0.65), ("100", 1)])
def test_a_confidence_is_typed_in_percent(typed: str, share: float) -> None:
    assert question_query(FilterForm({"least": typed})).least == share


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("since", "yesterday", "The first day \u201cyesterday\u201d is no day."),
        ("until", "2026-02-30", "The last day \u201c2026-02-30\u201d is no day."),
        ("least", "101", "The lowest confidence \u201c101\u201d is no percentage."),
        ("most", "nan", "The highest confidence \u201cnan\u201d is no percentage."),
    ],
)
def test_what_is_none_is_left_out_and_said(name: str, typed: str, said: str) -> None:
    fields = FilterForm({name: typed})

    assert question_query(fields) == QuestionQuery()
    assert [trouble[: len(said)] for trouble in fields.troubles] == [said]


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=2 * MAX_FIELD_LENGTH)))
def test_nothing_that_can_be_typed_breaks_it(given_: dict[str, str]) -> None:
    fields = FilterForm(given_)
    query = question_query(fields)

    assert len(query.words) <= MAX_FIELD_LENGTH
    assert len(fields.troubles) <= 4


def test_the_last_day_there_is_has_no_next() -> None:
    query = question_query(FilterForm({"until": "9999-12-31"}))

    assert query.until == datetime(9999, 12, 31, tzinfo=UTC)
