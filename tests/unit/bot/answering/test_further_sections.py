"""Tests of the sections beside an answer's, and of the words behind one that was chosen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.answering.further_sections import alternately, sections_beside
from bot.answering.visibility import offered_before
from bot.domain.handoff import SECTION_OF_PAGE, own_words, typed_question
from bot.domain.interactions import Clarification, Interaction, Outcome, Reply, Response, Trace
from bot.domain.messages import (
    FoundPassage,
    Intent,
    Message,
    chosen_option_id,
    chosen_section,
    chosen_section_id,
    is_chosen_option,
)
from rag.types import Chunk
from tests.fakes.builders import chunk, message, route
from tests.fakes.chat_app import SOURCE


def section(name: str, *heading: str) -> Chunk:
    return chunk("Text.", chunk_id=name, section=heading[0] if heading else name)


PAGE = [section(name) for name in ("a", "b", "c", "d", "e")]


def names(page: list[Chunk], *cited: str) -> list[str]:
    return [each.id for each in sections_beside(page, cited)]


def test_the_nearest_section_comes_first_and_the_next_before_the_last() -> None:
    assert names(PAGE, "c") == ["d", "b", "e", "a"]


def test_the_sections_between_two_that_are_cited_come_first() -> None:
    assert names(PAGE, "a", "c") == ["b", "d", "e"]


def test_a_section_of_several_chunks_is_one_and_is_named_by_its_first() -> None:
    page = [PAGE[0], PAGE[1], section("b2", "b"), PAGE[2]]
    assert names(page, "a") == ["b", "c"]
    assert names(page, "b2") == ["c", "a"]


@pytest.mark.parametrize("heading", ["", "VPN", " ", "x" * 300])
def test_a_section_that_has_no_name_of_its_own_is_left_out(heading: str) -> None:
    assert names([PAGE[0], section("nameless", heading)], "a") == []


def test_a_heading_that_is_there_twice_is_left_out() -> None:
    page = [PAGE[0], section("b", "Windows"), PAGE[2], section("d", "Windows")]
    assert names(page, "a") == ["c"]


def test_a_page_that_is_not_cited_offers_nothing() -> None:
    assert names(PAGE, "elsewhere") == []


def test_pages_take_turns() -> None:
    assert [each.id for each in alternately([PAGE[:3], PAGE[3:]])] == ["a", "d", "b", "e", "c"]


def said(
    number: int, text: str, response: Response, *, message_id: str = "", passages: bool = False
) -> Interaction:
    asked = message(text, message_id=message_id or f"m{number}", private=True)
    found = (FoundPassage("c9", "vpn.md", "VPN", "Mobile", {}),) if passages else ()
    outcome = Outcome(response, Trace(route(Intent.DOMAIN, text), passages=found))
    at = datetime(2026, 11, 28, tzinfo=UTC)
    return Interaction(asked.interaction_id, asked, "done", at, outcome, number=number)


ANSWER = Reply("Answer.", "found", (SOURCE,))
CHOSEN = chosen_section_id("press", "c2")
TYPED = said(1, "vpn fails", ANSWER)
SECTION = said(2, "VPN: Hotspot", ANSWER, message_id=CHOSEN)


def test_a_chosen_section_is_a_chosen_option_and_names_its_chunk() -> None:
    assert is_chosen_option(SECTION.message)
    assert chosen_section(SECTION.message) == "c2"


@pytest.mark.parametrize("name", ["m1", chosen_option_id("m1"), "x:beside:c2"])
def test_no_other_message_chose_a_section(name: str) -> None:
    assert chosen_section(replace(TYPED.message, id=name)) is None


def chose(text: str) -> Message:
    return message(text, message_id=CHOSEN, private=True)


def test_a_chosen_section_is_of_the_page_that_the_answer_cited() -> None:
    offered = list(offered_before([TYPED], chose("VPN: Hotspot")))
    assert offered == [FoundPassage("c2", "vpn.md", "VPN", "Hotspot", {})]


def test_nothing_vouches_for_a_section_of_a_page_that_nobody_cited() -> None:
    assert list(offered_before([TYPED], chose("Payroll: Layoffs"))) == []


def test_an_option_of_a_clarification_is_one_of_the_passages_it_noted() -> None:
    which = said(1, "vpn?", Clarification("Which?", ("VPN: Mobile",)), passages=True)
    option = message("VPN: Mobile", message_id=chosen_option_id("m1"), private=True)
    assert [each.chunk_id for each in offered_before([which], option)] == ["c9"]


def test_what_people_read_of_a_section_is_the_question_that_was_typed() -> None:
    assert typed_question(SECTION, [TYPED, SECTION]) == "vpn fails"
    assert own_words(SECTION.message, [TYPED]) == "vpn fails"


def test_a_section_beside_that_of_a_section_leads_back_to_what_was_typed() -> None:
    next_one = said(3, "VPN: Mobile", ANSWER, message_id=chosen_section_id("other", "c3"))
    assert typed_question(next_one, [TYPED, SECTION, next_one]) == "vpn fails"


def test_an_option_below_a_section_leads_back_to_what_was_typed() -> None:
    asks = said(2, "VPN: Hotspot", Clarification("Which?", ("VPN: Mobile",)), message_id=CHOSEN)
    option = said(3, "VPN: Mobile", ANSWER, message_id=chosen_option_id(CHOSEN))
    assert own_words(option.message, [asks, TYPED]) == "vpn fails"


def test_a_heading_is_never_passed_on_once_its_question_is_withdrawn() -> None:
    assert typed_question(SECTION, [SECTION]) == ""
    assert own_words(SECTION.message, []) == SECTION_OF_PAGE
