"""Tests that what the record has in place of an asker's words is shown as a text."""

from __future__ import annotations

import pytest

from bot.answering.routing.router import Router
from bot.domain.handoff import PERSON_REQUEST, SECTION_OF_PAGE, person_request
from bot.domain.messages import Intent
from bot.domain.outcomes import NOT_KEPT, PERSON_WISH, as_kept, question_text
from bot.domain.suggested_prompts import DEFAULT_PROMPTS
from bot.domain.texts import Text, load_catalogue, shipped_tags

GERMAN = load_catalogue("de").default


@pytest.mark.parametrize(
    "kept", [NOT_KEPT, PERSON_REQUEST, SECTION_OF_PAGE, "(with vpn.log, shot (1).png)"]
)
def test_words_of_ours_are_a_text_that_says_the_same_in_english(kept: str) -> None:
    shown = question_text(kept)
    assert isinstance(shown, Text)
    assert shown == kept
    assert GERMAN.text(shown) != kept


@pytest.mark.parametrize(
    "words", ["Where is the canteen?", "I am not kept.", "(with love)", "I'd like to ask", ""]
)
def test_words_of_people_stay_as_they_are(words: str) -> None:
    assert not isinstance(question_text(words), Text)
    assert question_text(words) == words


def test_a_wish_for_a_person_keeps_the_question_that_it_is_about() -> None:
    kept = person_request("Where is the canteen?")
    assert question_text(kept) == kept
    german = GERMAN.text(question_text(kept))
    assert german == f"{GERMAN.text(PERSON_WISH)}\n\nWhere is the canteen?"


def test_files_below_a_question_are_named_in_german() -> None:
    told = GERMAN.text(question_text("What is this?\n(with vpn.log)"))
    assert told.startswith("What is this?\n(")
    assert "with" not in told


@pytest.mark.parametrize("tag", shipped_tags())
def test_a_suggested_wish_is_kept_as_the_button_has_it(tag: str) -> None:
    language = load_catalogue(tag).default
    assert as_kept(language.text(PERSON_WISH), language) == PERSON_REQUEST
    assert as_kept("Where is the canteen?", language) == "Where is the canteen?"


@pytest.mark.parametrize("tag", shipped_tags())
async def test_what_is_suggested_is_understood_in_each_language(tag: str) -> None:
    language, router = load_catalogue(tag).default, Router(None, None, None)
    said = [as_kept(language.text(each.message), language) for each in DEFAULT_PROMPTS]
    understood = [(await router.route(each, ())).intent for each in said]
    assert understood == [Intent.GENERIC, Intent.HUMAN]
