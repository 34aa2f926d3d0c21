"""Tests of trying a model: what is kept, what is asked again, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.answering.evaluation.evaluate import PlannedQuestion
from bot.answering.evaluation.markdown_tables import trials_page
from bot.answering.evaluation.model_trial import KeptAnswers, cost_in_words
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import trial_of
from bot.answering.evaluation.report import Verdict
from tests.unit.bot.answering.evaluation.cases import WRONG, case, numbered, row

FIRST, SECOND = case(row("q1")), case(row("q2"), withheld=True, level=None)


def planned(*cases: Case) -> list[PlannedQuestion]:
    return [PlannedQuestion(each.row, each.withheld) for each in cases]


def test_answers_outlive_the_process_but_a_line_cut_off_does_not(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path, "own", {"model": "m"})
    kept.add(FIRST)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])

    after = KeptAnswers(tmp_path, "own", {"model": "m"})

    assert after.missing(planned(FIRST, SECOND)) == 1
    assert after.of(PlannedQuestion(FIRST.row)) == FIRST
    after.add(SECOND)
    assert KeptAnswers(tmp_path, "own", {"model": "m"}).missing(planned(FIRST, SECOND)) == 0


def test_answers_of_another_run_are_not_taken_for_its_own(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path, "own", {"model": "m", "gate": b"1"})
    kept.add(FIRST)

    other = KeptAnswers(tmp_path, "own", {"model": "m", "gate": b"2"})

    assert other.missing(planned(FIRST)) == 1
    kept.forget()
    assert kept.missing(planned(FIRST)) == 1


@pytest.mark.parametrize(
    ("micro_usd", "words"), [(2_500_000, "2.50 US dollars"), (None, "not known")]
)
def test_the_cost_is_told_or_said_to_be_unknown(micro_usd: int | None, words: str) -> None:
    told = cost_in_words("own", 100, lambda _, __: micro_usd)

    assert words in told
    assert "to ask 100" in told
    assert "350,000" in told


RIGHT_BY_NONE = [numbered(case(level="sure" if n < 3 else None), n) for n in range(10)]


def answers(right: int, wrong: int) -> Sequence[Case]:
    """Ten questions, of which some are answered right, some wrong, and the rest refused."""
    sure = [numbered(case(), n) for n in range(right)]
    bad = [numbered(case(verdict=WRONG), n) for n in range(right, right + wrong)]
    return [*sure, *bad, *(numbered(case(level=None), n) for n in range(right + wrong, 10))]


@pytest.mark.parametrize(
    ("right", "wrong", "verdict"),
    [
        (9, 0, "good enough"),
        (3, 0, "not good enough"),
        (8, 1, "not sure to be good enough"),
        (5, 5, "not good enough"),
    ],
)
def test_a_model_is_judged_by_what_it_adds_and_by_what_is_wrong(
    right: int, wrong: int, verdict: Verdict
) -> None:
    assert trial_of("own", answers(right, wrong), RIGHT_BY_NONE).verdict == verdict


def test_what_is_refused_held_back_invented_and_unusable_is_named() -> None:
    held = numbered(case(level=None), 1)
    refused = numbered(case(verdict=WRONG, level=None), 2)
    invented = case(row("near", "near_miss"), verdict=WRONG)
    failed = replace(numbered(case(verdict=WRONG, level=None), 4), failure="model_answer_invalid")
    follow_up = case(row("later", "multi_turn"), verdict=WRONG)
    made = [held, refused, invented, failed, follow_up]

    trial = trial_of("own", made, RIGHT_BY_NONE)
    plain = trial_of("none", RIGHT_BY_NONE)
    texts = {each.row.id: f"text of {each.row.id}" for each in made}
    page = trials_page([plain, trial], texts, careful=["own"])

    assert trial.refused == ("q1", "q2", "q4")
    assert trial.held_back == ("q1",)
    assert (trial.invented, trial.unusable) == (("near",), ("q4",))
    assert "**own: not good enough.**" in page
    assert "near: text of near" in page
    assert "careful default" in page
    assert "**none" not in page
