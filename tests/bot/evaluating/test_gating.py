from __future__ import annotations

from bot.answering.evaluation.gate_metrics import gating_figures
from tests.bot.evaluating.cases import WRONG, case, numbered, row

ANSWERED = [numbered(case(row(question="one two three"), confidence=0.9), n) for n in range(4)]
FAR = [case(row(f"f{n}", "far", "one two three four"), confidence=0.1) for n in range(3)]
NEAR = [case(row(f"n{n}", "near_miss", "one"), confidence=0.95) for n in range(2)]
WITHHELD = [numbered(case(row(), withheld=True, confidence=0.9), n) for n in range(4)]


def test_each_kind_of_question_without_an_answer_is_told_apart_on_its_own() -> None:
    separation = gating_figures([*ANSWERED, *FAR, *NEAR, *WITHHELD]).separation

    assert separation["far"]["gate"].plain.value == 1.0
    assert separation["near_miss"]["gate"].plain.value == 0.0
    assert separation["withheld"]["gate"].plain.value == 0.5
    assert "wrong_answer" not in separation


def test_at_equal_length_pairs_that_differ_by_more_than_a_word_are_left_out() -> None:
    separation = gating_figures([*ANSWERED, *FAR, *NEAR]).separation

    assert separation["far"]["gate"].matched.value == 1.0
    assert separation["near_miss"]["gate"].matched.value is None


def test_length_alone_is_reported_as_a_control() -> None:
    assert gating_figures([*ANSWERED, *NEAR]).separation["near_miss"]["length"].plain.value == 1.0


def test_wrong_answers_are_compared_with_right_ones() -> None:
    wrong = numbered(case(verdict=WRONG, confidence=0.2), 9)

    assert gating_figures([*ANSWERED, wrong]).separation["wrong_answer"]["gate"].plain.value == 1.0


def test_the_probability_is_held_against_right_and_wrong_without_the_withheld() -> None:
    found = gating_figures([*ANSWERED, *FAR, *WITHHELD])

    assert found.share_right.value == 0.5714
    assert found.coverage["5%"].value == 0.5714
    assert found.brier.value == 0.01
    assert found.coverage["5%"].n == 7


def test_questions_that_never_reached_the_index_are_left_out() -> None:
    generic = case(row("g", "far"), confidence=None)

    assert gating_figures([*ANSWERED, generic]).separation == {}


def test_nothing_asked_gives_no_figures() -> None:
    assert gating_figures([]).aurc.value is None
