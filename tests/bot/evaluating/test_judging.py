from __future__ import annotations

from dataclasses import replace

import pytest

from bot.answering.evaluation.labelled_questions import (
    Grade,
    RecordedComposition,
    grade_answer,
    holds_facts,
    is_valid,
)
from rag.ports import Composition
from rag.types import EVERYONE, Citation, Claim, Principal
from tests.bot.evaluating.cases import row
from tests.rag.passages import passage

PAGE = passage("You get **25 days** of leave.", page="a.md")
OTHER = passage("Badges are free.", page="b.md")


def composed(*quotes: str) -> RecordedComposition:
    claims = tuple(Claim(quote, (Citation(PAGE.chunk.id, quote),)) for quote in quotes)
    return RecordedComposition((PAGE, OTHER), Composition(claims))


@pytest.mark.parametrize(
    ("facts", "held"),
    [
        (["25 days"], True),
        (["30 days|25  DAYS"], True),
        (["25 days", "leave"], True),
        (["25 days", "sick"], False),
        (["|"], False),
        ([], True),
    ],
)
def test_all_facts_must_be_said_in_one_of_their_variants(facts: list[str], *, held: bool) -> None:
    assert holds_facts("You get **25 days** of\nleave.", facts) is held


def test_an_answer_is_right_with_all_facts_and_a_gold_page_cited() -> None:
    verdict = grade_answer(row(key_facts=["25 days"]), composed("You get **25 days** of leave."))

    assert verdict == Grade(facts=True, cited=True, evidence=True, citations=1, valid=1, words=6)
    assert verdict.right


def test_a_question_of_yes_or_no_is_right_when_its_page_is_cited() -> None:
    verdict = grade_answer(row(polarity="yes"), composed("of leave."))

    assert verdict.facts is None
    assert verdict.right


def test_a_stand_in_for_the_gold_page_is_as_good() -> None:
    assert grade_answer(row(pages=["z.md"], alt_pages=["a.md"]), composed("leave")).cited


def test_a_gold_page_that_was_read_and_not_cited_is_evidence_alone() -> None:
    verdict = grade_answer(row(pages=["b.md"]), composed("leave"))

    assert verdict.evidence
    assert not verdict.right


def test_withheld_pages_are_never_gold() -> None:
    assert not grade_answer(row(), composed("leave"), frozenset({"a.md"})).right


def test_a_quote_that_is_not_in_the_passage_to_the_byte_is_invalid() -> None:
    verdict = grade_answer(row(), composed("You get 25 days of leave.", "You get"))

    assert (verdict.citations, verdict.valid) == (2, 1)


def test_a_quote_that_the_asker_may_not_read_is_invalid() -> None:
    readers = (frozenset({Principal("group:hr")}),)
    closed = replace(PAGE, chunk=replace(PAGE.chunk, readers=readers))

    assert is_valid("leave", closed, frozenset({EVERYONE, Principal("group:hr")}))
    assert not is_valid("leave", closed, frozenset({EVERYONE}))
    assert not is_valid("leave", None, frozenset({EVERYONE}))


def test_an_unrestricted_asker_reads_nothing_that_nobody_may_read() -> None:
    nobody = replace(PAGE, chunk=replace(PAGE.chunk, readers=()))

    assert not is_valid("leave", nobody, frozenset({EVERYONE}))


def test_nothing_composed_is_nothing_right() -> None:
    assert grade_answer(row(), None) == Grade()
