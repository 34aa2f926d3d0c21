"""Asking back instead of guessing."""

from __future__ import annotations

from bot.answering.clarification import clarify
from tests.builders import chunk, passage

MAC = passage(
    chunk(
        "Reset the password of your Mac in settings.",
        chunk_id="a",
        page_id="mac.md",
        title="Mac password",
    ),
    0.8,
)
PAYROLL = passage(
    chunk(
        "To reset the payroll password call payroll.",
        chunk_id="b",
        page_id="pay.md",
        title="Payroll password",
    ),
    0.7,
)
LUNCH = passage(chunk("Lunch is at noon.", chunk_id="c", page_id="lunch.md", title="Lunch"), 0.75)


def test_a_broad_question_about_two_pages_is_asked_back() -> None:
    asked = clarify("how do I reset my password", [MAC, LUNCH, PAYROLL], 0.4)

    assert asked is not None
    assert asked.options == ("Mac password", "Payroll password")
    assert asked.confidence == 0.4


def test_one_fitting_page_leaves_nothing_to_choose() -> None:
    assert clarify("how do I reset my password", [MAC, LUNCH], 0.4) is None


def test_a_detailed_question_is_not_asked_back() -> None:
    detailed = "how do I reset my payroll password after the mac update broke touch id"

    assert clarify(detailed, [MAC, PAYROLL], 0.4) is None


def test_a_page_that_scores_far_below_the_best_is_no_candidate() -> None:
    weak = passage(PAYROLL.chunk, 0.1)

    assert clarify("how do I reset my password", [MAC, weak], 0.4) is None


def test_nothing_found_is_nothing_to_choose() -> None:
    assert clarify("password", [], 0.0) is None
    assert clarify("", [MAC, PAYROLL], 0.0) is None
