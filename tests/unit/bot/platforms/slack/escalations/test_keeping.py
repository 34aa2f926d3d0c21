"""Test that an expert keeps the answer of a case for others in a modal from its card."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.chat.actions import COLLEAGUES_ONLY
from bot.chat.adapters import ChatContext
from bot.learning.reviewed_answers import AnswerState, ReviewedAnswer
from bot.store.database import Store
from tests.fakes.answers import AnswerRoom, answer_room
from tests.fakes.chat_context import chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.escalations import until
from tests.fakes.slack import names
from tests.fakes.slack.builders import CaseScenario
from tests.fakes.slack.posts import View

SENT: Mapping[str, object] = {
    "question": "What helps when the VPN is down?",
    "answer": "Restart the router in room 3.",
    "variants": "vpn broken\nno vpn",
    "readers": ["everyone"],
    "until": "2099-01-31",
}


@pytest.fixture
async def room(
    request: pytest.FixtureRequest, store: Store, tmp_path: Path
) -> AsyncIterator[AnswerRoom]:
    """Yield where answers are kept; the parameter says whether a second person approves them."""
    async with answer_room(store, tmp_path, "acme") as room:
        room.by_second = getattr(request, "param", False)
        yield room


@pytest.fixture
def context(store: Store, inbox: KeepingInbox, room: AnswerRoom) -> ChatContext:
    return chat_context_over(store, inbox, tenant="acme", review=room.review)


async def answered(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("reply", text="Restart the router in room 3.")
    await scene.news()


def form(scene: CaseScenario) -> View:
    (view,) = scene.slack.open_views
    return view


async def kept(room: AnswerRoom) -> list[ReviewedAnswer]:
    states: Collection[AnswerState] = ("draft", "in_review", "live")
    return list(await room.store.answers.find("acme", states, limit=5))


async def test_an_answer_is_kept_from_its_card_and_found(
    scene: CaseScenario, room: AnswerRoom
) -> None:
    await answered(scene)
    anna = scene.visitor()

    await anna.click(scene.card, "Keep as answer")
    assert "Restart the router in room 3." in str(form(scene).payload)
    shown = await anna.submit(form(scene), SENT)

    assert "Published: anyone who asks this gets it within a minute" in str(shown)
    (answer,) = await kept(room)
    assert (answer.state, answer.owner) == ("live", "anna@acme.example")
    assert answer.content.variants == ("vpn broken", "no vpn")
    assert answer.content.valid_until == datetime(2099, 1, 31, tzinfo=UTC)
    await room.shelf.runs.settled()
    (found,) = await room.found("vpn broken")
    assert "room 3" in found.text

    await anna.click(scene.card, "Keep as answer")
    await until(lambda: scene.whispered(names.ANNA))
    assert (
        "An answer of this case is already kept. Change it on the board under Answers"
        in scene.whispered(names.ANNA)[-1]
    )


@pytest.mark.parametrize("room", [True], indirect=True)
async def test_a_second_expert_has_to_approve_it_where_that_is_set(
    scene: CaseScenario, room: AnswerRoom
) -> None:
    await answered(scene)
    anna = scene.visitor()

    await anna.click(scene.card, "Keep as answer")
    await anna.submit(form(scene), SENT)

    assert [each.state for each in await kept(room)] == ["in_review"]


async def test_nothing_is_to_be_kept_of_a_case_without_an_answer(scene: CaseScenario) -> None:
    await scene.ask()
    assert "Keep as answer" not in str(scene.card.payload)


async def test_what_is_refused_is_said_in_the_form(scene: CaseScenario, room: AnswerRoom) -> None:
    await answered(scene)
    anna = scene.visitor()
    await anna.click(scene.card, "Keep as answer")

    refused = await anna.submit(form(scene), {**SENT, "until": "2020-01-31"})
    assert "in the future" in str(refused)
    assert [each.state for each in await kept(room)] == ["draft"]

    await anna.submit(form(scene), {**SENT, "answer": "Restart the router in room 4."})
    (answer,) = await kept(room)
    assert (answer.state, answer.content.text) == ("live", "Restart the router in room 4.")


async def test_people_from_outside_keep_nothing(scene: CaseScenario, room: AnswerRoom) -> None:
    await answered(scene)
    scene.slack.people[names.BOB].is_restricted = True

    await scene.visitor(names.BOB).click(scene.card, "Keep as answer")

    await until(lambda: scene.whispered(names.BOB))
    assert scene.whispered(names.BOB) == [COLLEAGUES_ONLY]
    assert scene.slack.open_views == []
    assert await kept(room) == []
