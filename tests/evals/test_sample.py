"""The sample company's pages and its labelled questions hold what they promise."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from rag.types import EVERYONE, Principal
from tests.evals.sets import (
    SAMPLE_ROOT,
    SHORT_QUESTIONS,
    Labelled,
    load_pages,
    load_questions,
    without_links,
)

PAGES = load_pages()
MARKDOWN = [page for page in PAGES if page.path.suffix == ".md"]


def test_there_are_two_spaces_of_pages_one_pdf_and_one_word_document() -> None:
    kinds = Counter(page.path.suffix for page in PAGES)
    assert 34 <= kinds.pop(".md") <= 40
    assert kinds == {".pdf": 1, ".docx": 1}


def test_no_page_id_is_in_both_spaces() -> None:
    assert max(Counter(page.id for page in PAGES).values()) == 1


def test_each_of_two_groups_has_three_pages_of_its_own_and_all_else_is_for_everyone() -> None:
    principals = Counter(name for page in PAGES for one in page.readers for name in one)
    principals.pop(EVERYONE)
    assert principals == {"group:hr-team": 3, "group:it-admins": 3}


def test_documents_give_text() -> None:
    words = {page.path.suffix: len(page.text.split()) for page in PAGES}
    assert words[".pdf"] > 800
    assert words[".docx"] > 350


def test_front_matter_is_complete_and_understood() -> None:
    for page in MARKDOWN:
        front = page.front
        assert front.notes == (), page.id
        assert front.title, page.id
        assert front.labels, page.id
        assert front.updated_at is not None, page.id
        assert 2024 <= front.updated_at.year <= 2026, page.id


def test_a_page_begins_with_its_title_and_is_of_readable_length() -> None:
    for page in MARKDOWN:
        headings = re.findall(r"^# (.+)$", _outside_code(page.text), re.MULTILINE)
        assert headings == [page.front.title], page.id
        assert 200 <= len(page.text.split()) <= 700, page.id


def test_relative_links_lead_to_pages() -> None:
    for page in MARKDOWN:
        for target in re.findall(r"\]\(([^)]+)\)", page.text):
            assert (page.path.parent / target).resolve().is_file(), target


def test_addresses_and_telephone_numbers_are_invented() -> None:
    for page in PAGES:
        for address in re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", page.text):
            assert re.search(r"quillmoor\.example$|@10(\.\d+){3}$", address), page.id
        for number in re.findall(r"\+\d[\d ]{6,}", page.text):
            assert "555 01" in number, page.id


@pytest.mark.parametrize(
    ("source", "page_id"),
    [
        ("mobile-device-policy.md", "security/mobile-device-policy.pdf"),
        ("buddy-guide.md", "joining/buddy-guide.docx"),
    ],
)
def test_documents_say_what_their_kept_source_says(source: str, page_id: str) -> None:
    document = next(page for page in PAGES if page.id == page_id)
    written = _words((SAMPLE_ROOT / "sources" / source).read_text("utf-8"))
    assert written - _words(document.text) == set()


def _outside_code(text: str) -> str:
    return re.sub(r"^[ \t]*```.*?^[ \t]*```", "", text, flags=re.DOTALL | re.MULTILINE)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{2,}", text))


QUESTIONS = load_questions()
SHORT = load_questions(SHORT_QUESTIONS)
EVERY = [*QUESTIONS, *SHORT]
QUESTION_PAGES = {page.id: page for page in PAGES}
EVERYBODY = frozenset({EVERYONE})
ANSWERED = [q for q in EVERY if q.kind in {"answerable", "multi_turn"}]
NEAR = [q for q in QUESTIONS if q.kind == "near_miss"]
RESTRICTED = [q for q in QUESTIONS if "restricted" in q.tags]
MARKUP = re.compile(r"\*\*|\*\w|`|\]\(|^#|^\s*[-|]|\s{2,}|\n")


def test_the_mix_of_kinds_is_as_documented() -> None:
    assert Counter(q.kind for q in QUESTIONS) == {
        "answerable": 62,
        "near_miss": 20,
        "far": 8,
        "generic": 12,
        "human": 8,
        "multi_turn": 6,
        "underspecified": 4,
    }


def test_ids_count_upwards() -> None:
    assert [q.id for q in QUESTIONS] == [f"smp-{n:03d}" for n in range(1, len(QUESTIONS) + 1)]
    assert [q.id for q in SHORT] == [f"smp-s-{n:03d}" for n in range(1, len(SHORT) + 1)]


def test_short_questions_have_at_most_eight_words_and_two_halves() -> None:
    assert Counter(q.half for q in SHORT) == {1: 30, 2: 30}
    assert all("short" in q.tags and len(q.question.split()) <= 8 for q in SHORT)
    assert Counter(q.kind for q in SHORT) == {
        "answerable": 38,
        "near_miss": 18,
        "underspecified": 4,
    }


def test_no_question_is_asked_twice_in_one_kind_or_in_two() -> None:
    alone = [(q.id, set(_plain(q.question).split())) for q in EVERY if not q.history]
    for (one, words), (other, others) in combinations(alone, 2):
        same = words == others
        near = len(words) > 3 and len(words & others) > 0.7 * len(words | others)
        assert not same, (one, other)
        assert not near, (one, other)


def test_named_pages_exist() -> None:
    for labelled in EVERY:
        named = {*labelled.pages, *labelled.alt_pages, *labelled.near_pages}
        assert named <= QUESTION_PAGES.keys(), labelled.id
        assert not set(labelled.pages) & set(labelled.alt_pages), labelled.id


def test_evidence_is_verbatim_in_its_pages_and_free_of_markup() -> None:
    for labelled in ANSWERED:
        assert labelled.evidence, labelled.id
        for quote in labelled.evidence:
            assert len(quote) <= 300, labelled.id
            assert not MARKUP.search(quote), quote
            assert any(quote in QUESTION_PAGES[page].text for page in labelled.pages), quote
        for page in labelled.pages:
            assert any(quote in QUESTION_PAGES[page].text for quote in labelled.evidence), page


def test_key_facts_are_in_the_pages() -> None:
    for labelled in ANSWERED:
        assert labelled.key_facts or labelled.polarity, labelled.id
        text = _spaced(" ".join(QUESTION_PAGES[page].text for page in labelled.pages))
        for fact in labelled.key_facts:
            variants = fact.split("|")
            assert all(variants), fact
            assert any(_spaced(variant) in text for variant in variants), fact


def test_the_asker_may_read_the_pages() -> None:
    for labelled in ANSWERED:
        pages, asker = [QUESTION_PAGES[page] for page in labelled.pages], _principals(labelled)
        assert all(page.readable_by(asker) for page in pages), labelled.id
        if labelled.groups:
            assert not any(page.readable_by(EVERYBODY) for page in pages), labelled.id


def test_what_is_not_answered_has_no_evidence() -> None:
    for labelled in [q for q in EVERY if q.kind not in {"answerable", "multi_turn"}]:
        assert not labelled.evidence, labelled.id
        assert not labelled.key_facts, labelled.id
        assert not labelled.groups, labelled.id
        assert labelled.note, labelled.id


def test_a_near_miss_is_nowhere_the_asker_may_read() -> None:
    """Except for the restricted ones this holds for all pages, whoever may read them."""
    for labelled in [q for q in EVERY if q.kind == "near_miss"]:
        assert labelled.near_pages, labelled.id
        assert labelled.absent_regex, labelled.id
        pattern = re.compile(labelled.absent_regex)
        restricted = "restricted" in labelled.tags
        for page in QUESTION_PAGES.values():
            if page.readable_by(EVERYBODY) or not restricted:
                assert not pattern.search(without_links(page.text)), (labelled.id, page.id)
        if restricted:
            near = [QUESTION_PAGES[page] for page in labelled.near_pages]
            assert not any(page.readable_by(EVERYBODY) for page in near), labelled.id
            assert any(pattern.search(page.text) for page in near), labelled.id


def test_four_restricted_questions_are_answered_in_a_group_and_four_others_are_refused() -> None:
    kinds = Counter((q.kind, bool(q.groups)) for q in RESTRICTED)
    assert kinds == {("answerable", True): 4, ("near_miss", False): 4}


def test_only_follow_ups_have_history_and_only_open_questions_ask_back() -> None:
    for labelled in EVERY:
        follow_up = labelled.kind == "multi_turn"
        assert bool(labelled.history) == bool(labelled.standalone) == follow_up, labelled.id
        assert bool(labelled.clarify) == (labelled.kind == "underspecified"), labelled.id
        assert [t.role for t in labelled.history] == ["user", "assistant"] * follow_up


def test_length_does_not_tell_a_near_miss_from_an_answerable_question() -> None:
    answerable = [len(q.question.split()) for q in QUESTIONS if q.kind == "answerable"]
    near = [len(q.question.split()) for q in NEAR]
    wins = sum((a > n) + (a == n) / 2 for a in answerable for n in near)
    assert 0.45 <= wins / (len(answerable) * len(near)) <= 0.55


def test_answers_come_from_many_pages_and_all_forms_of_text() -> None:
    answerable = [q for q in QUESTIONS if q.kind == "answerable"]
    tags = Counter(tag for q in answerable for tag in q.tags)
    assert len({page for q in answerable for page in q.pages}) >= 36
    assert tags["table"] >= 20
    assert tags["list"] >= 10
    assert tags["error_code"] >= 8
    assert tags["paraphrase"] >= 30
    assert min(tags["pdf"], tags["docx"], tags["two_page"]) >= 2


def _principals(labelled: Labelled) -> frozenset[Principal]:
    return frozenset({EVERYONE, *(Principal(f"group:{name}") for name in labelled.groups)})


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _spaced(text: str) -> str:
    return " ".join(text.lower().split())
