"""Between lines that are as good, how a section was found decides."""

from __future__ import annotations

from rag.answer.sections import Scores, rank_sections, section_signals
from tests.rag.passages import passage

EQUAL = Scores({"a-md-0": [(0, 5, 1.0)], "b-md-0": [(0, 5, 1.0)]})


def test_a_section_that_is_near_as_a_whole_comes_first() -> None:
    far = passage("Text.", page="a.md", signals={"vector": 0.3})
    near = passage("Text.", page="b.md", signals={"vector": 0.6})

    (_, first), _ = rank_sections([far, near], EQUAL)

    assert first.page_id == "b.md"


def test_what_was_found_first_comes_first() -> None:
    pages = [passage("Text.", page="b.md"), passage("Text.", page="a.md")]

    assert [section.page_id for _, section in rank_sections(pages, EQUAL)] == ["b.md", "a.md"]


def test_the_lead_is_over_another_page_and_the_gap_over_any_section() -> None:
    text = "Text.\n\nLost badges\n\nOther text."

    alone = section_signals(rank_sections([passage(text, page="a.md")], EQUAL))
    both = section_signals(
        rank_sections([passage(text, page="a.md"), passage("Text.", page="b.md")], EQUAL)
    )

    assert alone["section_score"] == alone["section_lead"] > alone["section_gap"] > 0
    assert 0 < both["section_lead"] < both["section_score"]
