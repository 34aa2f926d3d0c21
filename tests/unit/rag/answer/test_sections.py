"""Sections: their blocks across chunks, the excerpts shown of them, and their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.answer.excerpt_blocks import blocks_of
from rag.answer.excerpts import (
    MOST_ROWS,
    MOST_WORDS,
    Excerpt,
    fit_block,
    whole_block,
)
from rag.answer.sections import (
    Scores,
    choose_excerpts,
    rank_sections,
    section_of,
    section_signals,
    sections_of,
)
from rag.parts import CitedText, Code, Item, ItemList, Omission, Table, paragraph, parts_text
from rag.text.blocks import Block
from rag.types import Chunk
from tests.fakes.passages import passage


def chunks(*texts: str) -> tuple[Chunk, ...]:
    return tuple(passage(text, ordinal=n).chunk for n, text in enumerate(texts))


def blocks(*texts: str) -> tuple[Block, ...]:
    return tuple(block for section in sections_of(chunks(*texts)) for block in section.blocks)


def fitted(block: Block, best: int = 0, room: int = MOST_WORDS) -> Excerpt:
    scores = [float(n == best) for n in range(len(block.entries))]
    excerpt = fit_block(block, scores, room)
    assert excerpt is not None
    return excerpt


def listed(*texts: str, ordered: bool = False, start: int = 1) -> ItemList:
    return ItemList(tuple(Item(CitedText(text)) for text in texts), ordered, start)


def test_a_section_is_all_chunks_of_its_breadcrumb_in_page_order() -> None:
    intro, body, tail = chunks("Intro.", "Body.", "Tail.")
    inner = replace(body, breadcrumb=(*body.breadcrumb, "Inner"))

    assert section_of(tail, (intro, inner, tail)) == (intro, tail)
    assert [section.chunks for section in sections_of([tail, inner, intro])] == [
        (intro, tail),
        (inner,),
    ]


def test_a_heading_in_the_text_begins_a_section() -> None:
    both = chunks("Badges\n\nOne each.\n\nLost badges\n\nExtension 5500.", "Extension 5501.")

    first, second = sections_of(both)

    assert [block.entries[0].quote for block in first.blocks] == ["One each."]
    assert first.chunks == both[:1]
    assert [span.quote for span in second.spans][-1] == "Extension 5501."
    assert second.chunks == both


def test_a_long_section_is_read_around_what_was_found() -> None:
    page = chunks(*(f"Part {n}." for n in range(20)))

    assert page[15] in section_of(page[15], page, most=4)
    assert len(section_of(page[19], page, most=4)) == 4


@pytest.mark.mended(id="slack-3")
def test_steps_cut_between_chunks_are_one_list_with_its_lead_in() -> None:
    (block,) = blocks("Do this:\n\n1. Open.\n2. Press.", "3. Wait.")

    assert (block.kind, block.numbers) == ("steps", (1, 2, 3))
    assert blocks_of(whole_block(block)) == (
        paragraph("Do this:"),
        listed("Open.", "Press.", "Wait.", ordered=True),
    )


def test_code_between_two_steps_belongs_to_the_first_of_them() -> None:
    text = "1. Make a key.\n   ```\n   keygen\n   ```\n2. Send it."
    (block,) = blocks(text)

    make = Item(CitedText("Make a key."), (Code("keygen"),))
    assert blocks_of(whole_block(block)) == (
        ItemList((make, Item(CitedText("Send it."))), ordered=True),
    )


def test_a_sub_list_stays_with_its_item() -> None:
    (block,) = blocks("- Team:\n  - Ann\n  - Bob\n- Rest")

    assert [entry.quote for entry in block.entries] == ["- Team:\n  - Ann\n  - Bob", "- Rest"]
    team = Item(CitedText("Team:"), (listed("Ann", "Bob"),))
    assert blocks_of(whole_block(block)) == (ItemList((team, Item(CitedText("Rest")))),)


def test_steps_below_a_bullet_are_a_list_of_their_own_and_keep_their_numbers() -> None:
    (block,) = blocks("- Set up:\n  3. Open.\n  4. Press.\n  - Or call.\n- Rest")

    (shown,) = blocks_of(whole_block(block))
    assert isinstance(shown, ItemList)
    steps = listed("Open.", "Press.", ordered=True, start=3)
    assert shown.items[0].blocks == (steps, listed("Or call."))
    assert [item.text.text for item in shown.items] == ["Set up:", "Rest"]


def test_a_table_within_a_step_is_below_that_step() -> None:
    (block,) = blocks("1. Choose:\n   | Plan | Days |\n   |---|---|\n   | S | 5 |\n2. Save.")

    (shown,) = blocks_of(whole_block(block))
    assert isinstance(shown, ItemList)
    assert shown.items[0].blocks == (Table(("Plan", "Days"), (("S", "5"),)),)


def test_a_table_cut_between_chunks_has_its_header_once() -> None:
    header = "| Day | Room |\n| --- | --- |\n"
    (block,) = blocks(f"{header}| Mon | 1 |", f"{header}| Tue | 2 |")

    assert blocks_of(whole_block(block)) == (Table(("Day", "Room"), (("Mon", "1"), ("Tue", "2"))),)


def test_a_table_without_header_or_with_uneven_rows_is_filled_up() -> None:
    (block,) = blocks("| 443 | VPN \\| web | |\n| 22 |")

    assert blocks_of(whole_block(block)) == (Table((), (("443", "VPN | web", ""), ("22", "", ""))),)


def test_a_line_across_the_page_takes_no_row_from_the_table_above_it() -> None:
    table, end = blocks("| Size | Price |\n|---|---|\n| S | 5 |\n| M | 7 |\n\n---\n\nThe end.")

    assert [row.quote for row in table.entries] == ["| S | 5 |", "| M | 7 |"]
    assert [span.quote for span in end.entries] == ["The end."]


def test_code_cut_between_chunks_is_fenced_once() -> None:
    (block,) = blocks("```sh\none\n```", "```sh\ntwo\n```")

    assert blocks_of(whole_block(block)) == (Code("one\ntwo", "sh"),)


def test_a_sentence_that_two_chunks_repeat_is_shown_once() -> None:
    (block,) = blocks("Open it. Then wait.", "Then wait. Then go.")

    assert blocks_of(whole_block(block)) == (paragraph("Open it. Then wait. Then go."),)


def test_a_label_stands_above_what_follows_it() -> None:
    (block,) = blocks("Was there personal or customer data on it at all?\n\nTell us at once.")

    assert [span.quote for span in block.above] == [
        "Was there personal or customer data on it at all?"
    ]


@pytest.mark.mended(id="slack-3")
def test_steps_too_long_to_show_say_which_are_missing_by_their_own_numbers() -> None:
    steps = "\n".join(f"{n}. {'word ' * 30}" for n in range(3, 15))
    (block,) = blocks(steps)

    excerpt = fitted(block, best=11)

    assert excerpt.entries[0] == block.entries[0]
    assert excerpt.words <= MOST_WORDS
    left = block.numbers[len(excerpt.entries)]
    assert excerpt.omission == Omission("steps", left, 14)


@pytest.mark.mended(id="teams-4")
def test_of_a_long_table_the_rows_that_match_are_shown_below_the_header() -> None:
    rows = "\n".join(f"| {n} | room |" for n in range(40))
    (block,) = blocks(f"| Number | Place |\n| --- | --- |\n{rows}")

    shown = fitted(block, best=31)

    (table,) = blocks_of(shown)
    assert isinstance(table, Table)
    assert table.header == ("Number", "Place")
    assert ("31", "room") in table.rows
    assert (len(table.rows), shown.omission) == (MOST_ROWS, Omission("rows"))


def test_a_table_without_a_row_is_not_shown() -> None:
    assert blocks("| Number | Place |\n| --- | --- |") == ()


def test_what_introduces_a_table_without_a_row_is_shown_all_the_same() -> None:
    (block,) = blocks("Ask Ann for a number:\n\n| Number | Place |\n| --- | --- |")

    assert [span.quote for span in block.entries] == ["Ask Ann for a number:"]


def test_a_long_paragraph_is_cut_around_the_sentence_that_answers() -> None:
    sentences = [f"Sentence {n} has some more words in it." for n in range(30)]
    (block,) = blocks(" ".join(sentences))

    shown = fitted(block, best=20, room=50)

    text = parts_text(blocks_of(shown))
    assert sentences[20] in text
    assert text in block.entries[0].chunk.text
    assert shown.omission == Omission()


def test_a_marked_row_stays_a_row() -> None:
    (block,) = blocks("| Port | Use |\n| --- | --- |\n| 443 | VPN |")
    row = block.entries[0]

    marked = blocks_of(whole_block(block), [(row.chunk.id, row.start, row.end)])

    assert marked == (Table(("Port", "Use"), (("**443**", "**VPN**"),)),)


def test_a_marked_line_that_begins_like_a_row_keeps_its_words() -> None:
    (block,) = blocks("|x| is never negative. It is a length.")
    line = block.entries[0]

    marked = blocks_of(whole_block(block), [(line.chunk.id, line.start, line.end)])

    assert marked == (paragraph("**|x| is never negative.** It is a length."),)


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


def test_a_second_section_is_shown_with_its_steps() -> None:
    mail, clicked = "Report it at once. " * 20, "Nobody is blamed for a click."
    steps = "\n".join(f"{n}. {'Go on. ' * 8}" for n in range(1, 6))
    first, second = passage(mail, page="a.md"), passage(f"{steps}\n\n{clicked}", page="b.md")
    at = len(steps) + 2
    scores = Scores(
        {
            first.chunk.id: [(0, len(mail), 1.0)],
            second.chunk.id: [(at, at + len(clicked), 0.9), (0, len(steps), 0.1)],
        }
    )

    _, shown = choose_excerpts(sections_of([first.chunk, second.chunk]), scores)

    assert [each.kind for each in shown] == ["step", "paragraph"]
