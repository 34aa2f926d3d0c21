"""Every term of the record has words."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest

from bot.domain.cases import State
from bot.domain.feedback import REASONS
from bot.domain.interactions import EscalationReason, Status
from bot.domain.messages import Intent, InteractionId
from bot.domain.outcomes import AnswerType
from bot.domain.record_search import AskedQuestion
from bot.web.board import labels
from tests.builders import NOON

ASKED = AskedQuestion(
    InteractionId("i1"), NOON, "Where?", "anna", "", "web:anna", private=True, status="done"
)


def test_no_term_is_without_words() -> None:
    assert set(labels.STATES) == set(get_args(State))
    assert set(labels.REASONS) == set(get_args(EscalationReason))
    assert set(labels.BECAME) == set(get_args(AnswerType))
    assert set(labels.INTENTS) == set(Intent)
    assert set(labels.JUDGED) == set(REASONS)


@pytest.mark.parametrize("status", get_args(Status))
@pytest.mark.parametrize("case", [None, *get_args(State)])
@pytest.mark.parametrize("kind", [None, *get_args(AnswerType)])
def test_every_question_became_something(
    status: Status, case: State | None, kind: AnswerType | None
) -> None:
    question = AskedQuestion(
        **{each: getattr(ASKED, each) for each in ("id", "asked_at", "text", "person_id")},
        person_name="",
        channel="web:anna",
        private=True,
        status=status,
        case=case,
        answer_type=kind,
    )

    assert labels.became(question)


@pytest.mark.parametrize(
    ("channel", "private", "said"),
    [
        ("slack:C1", False, "Slack, channel C1"),
        ("slack:D1", True, "Slack, direct message"),
        ("web:visitor-1", True, "Web chat"),
        ("pigeon:loft", False, "pigeon, channel loft"),
        ("", False, ""),
    ],
)
def test_a_place_is_named_as_people_know_it(channel: str, said: str, *, private: bool) -> None:
    assert labels.place(channel, private=private) == said


def test_a_long_text_is_one_short_line() -> None:
    assert labels.one_line("a\n b") == "a b"
    assert len(labels.one_line("word " * 500)) <= 240
    assert labels.one_line(" \n") == "(no words)"


def test_a_clock_that_is_behind_counts_as_no_time() -> None:
    assert labels.age(timedelta(seconds=-5)) == "less than a minute"
    assert labels.age(timedelta(minutes=5)) == "5\xa0min"
