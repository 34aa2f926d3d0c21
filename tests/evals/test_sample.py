"""The sample company is a wiki that can be indexed, and is nobody real."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rag.types import EVERYONE
from tests.evals.sample import ROOT, SamplePage, load_pages

PAGES = load_pages()
MARKDOWN = [page for page in PAGES if page.path.suffix == ".md"]
EACH = pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: f"{page.space}/{page.id}")


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


@EACH
def test_front_matter_is_complete_and_understood(page: SamplePage) -> None:
    front = page.front
    assert front.notes == ()
    assert front.title
    assert front.labels
    assert front.updated_at is not None
    assert 2024 <= front.updated_at.year <= 2026


@EACH
def test_a_page_begins_with_its_title_and_is_of_readable_length(page: SamplePage) -> None:
    headings = re.findall(r"^# (.+)$", _outside_code(page.text), re.MULTILINE)
    assert headings == [page.front.title]
    assert 200 <= len(page.text.split()) <= 700


@EACH
def test_relative_links_lead_to_pages(page: SamplePage) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.text):
        assert (page.path.parent / target).resolve().is_file(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.space}/{page.id}")
def test_addresses_and_telephone_numbers_are_invented(page: SamplePage) -> None:
    for address in re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", page.text):
        assert address.endswith("quillmoor.example") or re.search(r"@10(\.\d+){3}$", address)
    for number in re.findall(r"\+\d[\d ]{6,}", page.text):
        assert "555 01" in number


@pytest.mark.parametrize(
    ("source", "page_id"),
    [
        ("mobile-device-policy.md", "security/mobile-device-policy.pdf"),
        ("buddy-guide.md", "joining/buddy-guide.docx"),
    ],
)
def test_documents_say_what_their_kept_source_says(source: str, page_id: str) -> None:
    document = next(page for page in PAGES if page.id == page_id)
    written = _words((ROOT / "sources" / source).read_text("utf-8"))
    assert written - _words(document.text) == set()


def _outside_code(text: str) -> str:
    return re.sub(r"^[ \t]*```.*?^[ \t]*```", "", text, flags=re.DOTALL | re.MULTILINE)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{2,}", text))
