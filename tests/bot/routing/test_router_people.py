"""Wishes for a person within a conversation."""

from __future__ import annotations

import pytest

from bot.answering.routing.router import Router
from bot.domain.handoff import ASK_TOPIC, PERSON_REQUEST, HandoffWording, person_request
from bot.domain.messages import Intent
from rag.types import Turn

OFFERED = HandoffWording(not_found="Not there.", uncertain="Not sure.").text(
    "low_confidence", private=True, platform="web"
)
ASKED = (Turn("user", "does the company pay for pet insurance?"), Turn("assistant", OFFERED))
TOLD = (Turn("user", "a human please"), Turn("assistant", "Of course."))


@pytest.fixture
def router() -> Router:
    return Router(None, None, None)


@pytest.mark.parametrize(
    "text", ["yes", "Yes please!", "ok", "sure, thanks", "go ahead", "please do", "ja", "human"]
)
async def test_agreeing_to_the_offer_asks_a_person(router: Router, text: str) -> None:
    route = await router.route(text, ASKED)

    assert route.intent is Intent.HUMAN
    assert route.question == "does the company pay for pet insurance?"


@pytest.mark.parametrize("text", ["no", "no thanks", "not now", "yes but what about dental?"])
async def test_anything_else_does_not(router: Router, text: str) -> None:
    assert (await router.route(text, ASKED)).intent is not Intent.HUMAN


async def test_yes_without_an_offer_asks_nobody(router: Router) -> None:
    assert (await router.route("yes", TOLD)).intent is not Intent.HUMAN


async def test_small_talk_in_between_is_not_what_a_person_is_asked(router: Router) -> None:
    history = (*ASKED, Turn("user", "thanks"), Turn("assistant", "You're welcome."))

    route = await router.route("can I talk to a human", history)

    assert route.question == "does the company pay for pet insurance?"


async def test_a_new_word_after_a_wish_for_a_person_is_a_new_question(router: Router) -> None:
    assert (await router.route("laptop", TOLD)).question == "laptop"


BIKE = (
    Turn("user", "can I rent a bike?", "e1"),
    Turn("assistant", OFFERED, "e1"),
)
OF_ANOTHER = (
    Turn("user", "how do I report harassment?", "e2", own=False),
    Turn("assistant", OFFERED, "e2", own=False),
)


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("history", "question", "leaned_on"),
    [
        (BIKE, "can I rent a bike?", ("e1",)),
        ((*BIKE, *OF_ANOTHER), "can I rent a bike?", ("e1",)),
        (OF_ANOTHER, "a human please", ()),
    ],
    ids=["own", "own, then another's", "another's"],
)
async def test_a_wish_takes_up_what_its_author_asked_and_nobody_else(
    router: Router, history: tuple[Turn, ...], question: str, leaned_on: tuple[str, ...]
) -> None:
    route = await router.route("a human please", history)

    assert (route.question, route.leaned_on) == (question, leaned_on)


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("I want to talk to a human about my parking permit", True),
        ("I'd like to speak to a person about invoice 4711, please", True),
        ("this bot is useless, get me a person", False),
        ("can I speak to a real person about this", False),
        (PERSON_REQUEST, False),
        (person_request("can I rent a bike?"), False),
        (person_request("where is the canteen?"), True),
    ],
)
async def test_a_wish_that_says_what_it_is_about_leans_on_nothing(
    router: Router, text: str, *, alone: bool
) -> None:
    route = await router.route(text, BIKE)

    assert route.intent is Intent.HUMAN
    assert (route.leaned_on == ()) is alone


@pytest.mark.mended(id="slack-5")
async def test_a_topic_that_another_was_asked_for_takes_no_question_away(router: Router) -> None:
    wish = Turn("user", "a human please", own=False)
    history = (wish, Turn("assistant", ASK_TOPIC, own=False))

    assert (await router.route("my laptop", history)).intent is not Intent.HUMAN


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize(("text", "wished"), [("my laptop", True), ("thanks", False)])
async def test_what_follows_the_question_for_a_topic_is_for_people(
    router: Router, text: str, *, wished: bool
) -> None:
    history = (Turn("user", "a human please"), Turn("assistant", ASK_TOPIC))

    assert (await router.route(text, history)).intent is (
        Intent.HUMAN if wished else Intent.GENERIC
    )
