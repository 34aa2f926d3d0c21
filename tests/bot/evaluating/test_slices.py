from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.answering.evaluation.labelled_questions import Grade
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import slices
from tests.bot.evaluating.cases import WRONG, case, row

PART = Grade(facts=False, cited=True, evidence=True, citations=1, valid=1, facts_held=0.5)
NAMED = {"composer_partial": 1.0}


def partial(verdict: Grade = PART, features: Mapping[str, float] | None = None) -> Case:
    return case(verdict=verdict, level="partial", features=features)


def test_an_unsure_answer_counts_as_none_and_is_reported_on_its_own() -> None:
    found = slices([case(), case(level="unsure"), case(level="unsure", verdict=WRONG)])["all"]

    assert (found.answered.value, found.answered.n) == (0.3333, 3)
    assert (found.unsure.value, found.right_among_unsure.value) == (0.6667, 0.5)
    assert found.let_through.value == 0.5


def test_a_partial_answer_is_right_when_it_names_what_is_missing() -> None:
    cases = [partial(PART, NAMED), partial(), partial(replace(PART, facts_held=0.0), NAMED)]

    found = slices(cases)["all"]

    assert found.answered.value == 1.0
    assert found.right_among_answered.value == 0.3333
    assert slices([case(verdict=PART, features=NAMED)])["all"].answered_right.value == 0.0


def test_wrong_among_all_answered_counts_questions_without_an_answer() -> None:
    cases = [case(), case(row("n", "near_miss")), replace(case(), withheld=True)]

    found = slices(cases)["all"]

    assert found.right_among_answered.value == 1.0
    assert found.wrong_among_answered.value == 0.6667
    assert found.unanswerable_answered.n == 2


def test_slices_go_by_length_tags_and_kind() -> None:
    long_ = " ".join(["word"] * 9)
    rows = [
        row("1", question="two words"),
        row("2", question=long_, tags=["table"]),
        row("3", question=long_, tags=["list"]),
        row("4", "multi_turn", "and then", pages=["a.md"]),
    ]

    found = slices([case(each) for each in rows])

    counts = {name: each.answered.n for name, each in found.items()}
    assert counts == {"all": 3, "short": 1, "long": 2, "table": 1, "steps": 1, "multi_turn": 1}
