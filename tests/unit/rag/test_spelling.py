"""Mistyped words are told from words that are meant as they stand."""

from __future__ import annotations

import pytest

from rag.text.definitions import asked_term, defined_terms
from rag.text.spelling import (
    Spelling,
    keys_beside,
    likely_spelling,
    respelled,
    similar_words,
    spelled_words,
)
from tests.fakes.costs import costs_in_proportion

VOCABULARY = ("password", "printer", "copied", "schedule", "plan", "lean", "reimbursement", "menu")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where is the prnter?", ("prnter",)),
        ("how do I get the job", ()),
        ("error 0x80070005 and KB5031234 and E-42", ("error",)),
        ("see /etc/hots or git.exampel.org or ann@exampel.org", ()),
        ('the message "acces denyed" and `sudo instal`', ("message",)),
        ("is it DHPC or SPF", ()),
        ("wo ist der Druker und wie richte ich ihn ein", ()),
    ],
    ids=["prose", "short", "identifiers", "paths", "quotes", "acronyms", "another language"],
)
def test_what_may_be_mistyped_is_prose_of_four_letters_or_more(
    question: str, words: tuple[str, ...]
) -> None:
    assert spelled_words(question) == words


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("prnter", ["printer"]),
        ("printrer", ["printer"]),
        ("pronter", ["printer"]),
        ("pirnter", ["printer"]),
        ("lpan", ["plan"]),
        ("reinbursment", ["reimbursement"]),
        ("pxnter", []),
        ("copier", []),
        ("reschedule", []),
        ("mend", []),
    ],
    ids=[
        "deletion",
        "insertion",
        "a key beside",
        "transposition",
        "the first two exchanged",
        "two errors in a long word",
        "two in a short one",
        "another form",
        "another beginning",
        "a short word",
    ],
)
def test_only_likely_errors_are_corrected(typed: str, meant: list[str]) -> None:
    assert [word for words in similar_words(typed, VOCABULARY) for word in words] == meant


def test_the_spelling_beside_the_questions_other_words_is_likelier() -> None:
    common, fitting = Spelling("lease", 40, beside=1), Spelling("leave", 5, beside=3)

    assert likely_spelling([common, fitting]) == "leave"


def test_two_equally_likely_spellings_leave_the_word_as_it_is() -> None:
    assert likely_spelling([Spelling("lease", 4), Spelling("leave", 4)]) is None
    assert likely_spelling([Spelling("printer", 4), Spelling("printers", 4)]) == "printer"
    assert likely_spelling([]) is None


def test_only_prose_is_replaced_and_a_capital_stays() -> None:
    typed = 'Pasword for (pasword), "pasword", pasword.txt?'

    assert respelled(typed, {"pasword": "password"}) == (
        'Password for (password), "pasword", pasword.txt?'
    )


def test_the_keys_beside_one_are_those_around_it() -> None:
    assert set(keys_beside("a")) == set("qwsz")
    assert keys_beside("\u00e9") == ""


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What does TOIL mean?", {"toil"}),
        ("what is the data intake", {"data", "intak"}),
        ("what does SLA stand for", {"sla"}),
        ("how do I book TOIL", set()),
    ],
    ids=["mean", "what is", "stand for", "no definition"],
)
def test_a_question_for_the_meaning_of_a_term_names_it(question: str, term: set[str]) -> None:
    assert asked_term(question) == term


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("| Short | Long |\n|---|---|\n| TOIL | Time off in lieu |", [{"toil"}]),
        ("- **Weir talk**: the monthly meeting", [{"weir", "talk"}]),
        ("Take time off in lieu (TOIL) within a month.", [{"toil"}]),
        ("An SLA (service level agreement) says when.", [{"sla"}]),
        ("Use the VPN (see below).", []),
        ("| 1 | 2 | 3 |\n|---|---|---|\n| TOIL | time | off |", []),
    ],
    ids=["row", "bold", "long and short", "short and long", "an aside", "a wider table"],
)
def test_a_passage_defines_terms_of_a_glossary_and_acronyms(
    text: str, terms: list[set[str]]
) -> None:
    assert [set(term) for term in defined_terms(text)] == terms


@pytest.mark.parametrize("piece", [" ", "\n", "|\n", "a ", "(AB)", "AB ", "- "])
def test_defined_terms_are_found_in_time_that_grows_with_the_text(piece: str) -> None:
    assert costs_in_proportion(lambda text: list(defined_terms(text)), piece, 24_000)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("how do i file this in Expensify", ("file",)),
        ("Pasword reset. Wher is it", ("pasword", "reset", "wher")),
    ],
    ids=["a name", "a sentence's first word"],
)
def test_a_capital_within_a_sentence_marks_a_name(question: str, words: tuple[str, ...]) -> None:
    assert spelled_words(question) == words


def test_two_letters_more_or_fewer_are_another_word() -> None:
    assert similar_words("bitlocker", ["blocker"]) == []
    assert similar_words("accomodate", ["accommodated"]) == []
