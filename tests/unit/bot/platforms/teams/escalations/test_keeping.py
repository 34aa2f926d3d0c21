"""Test that an expert keeps the answer of a case for others in a dialog from its card."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.chat.actions import COLLEAGUES_ONLY
from bot.chat.adapters import ChatContext
from bot.learning.reviewed_answers import AnswerState, ReviewedAnswer
from bot.store.database import Store
from tests.fakes.answers import AnswerRoom, answer_room
from tests.fakes.chat_context import chat_context_over
from tests.fakes.desk import HANDED_OVER, KeepingInbox
from tests.fakes.teams import names
from tests.fakes.teams.builders import CaseScenario

SENT = {
    "question": "What helps when the VPN is down?",
    "answer": "Restart the router in room 3.",
    "variants": "vpn broken\nno vpn",
    "readers": "everyone",
    "until": "2099-01-31",
}


@pytest.fixture
async def room(store: Store, tmp_path: Path) -> AsyncIterator[AnswerRoom]:
    async with answer_room(store, tmp_path, "acme") as room:
        yield room


@pytest.fixture
def context(store: Store, room: AnswerRoom) -> ChatContext:
    return chat_context_over(store, KeepingInbox(), tenant="acme", review=room.review)


async def answered(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("reply", text="Restart the router in room 3.")
    await scene.news()


async def kept(room: AnswerRoom) -> list[ReviewedAnswer]:
    states: Collection[AnswerState] = ("draft", "in_review", "live")
    return list(await room.store.answers.find("acme", states, limit=5))


async def test_an_answer_is_kept_from_its_card_and_found(
    scene: CaseScenario, room: AnswerRoom
) -> None:
    await answered(scene)
    anna = scene.visitor()

    dialog = await anna.open(scene.card, "Keep as answer")
    assert "Restart the router in room 3." in str(dialog.card)
    shown = await anna.submit(dialog, "Approve", **SENT)

    assert "Published: anyone who asks this gets it within a minute" in str(shown)
    (answer,) = await kept(room)
    assert (answer.state, answer.owner) == ("live", "anna@acme.example")
    assert answer.content.variants == ("vpn broken", "no vpn")
    assert answer.content.valid_until == datetime(2099, 1, 31, tzinfo=UTC)
    await room.shelf.runs.settled()
    (found,) = await room.found("vpn broken")
    assert "room 3" in found.text
    assert "An answer of this case is already kept. Change it on the board under Answers" in str(
        await anna.open(scene.card, "Keep as answer")
    )


async def test_what_is_refused_is_said_in_the_dialog(scene: CaseScenario, room: AnswerRoom) -> None:
    await answered(scene)
    anna = scene.visitor()
    dialog = await anna.open(scene.card, "Keep as answer")

    shown = await anna.submit(dialog, "Approve", **{**SENT, "until": "2020-01-31"})

    assert "in the future" in str(shown)
    assert [each.state for each in await kept(room)] == ["draft"]


async def test_nothing_is_to_be_kept_of_a_case_without_an_answer(scene: CaseScenario) -> None:
    await scene.ask()
    assert "Keep as answer" not in scene.card.labels


async def test_people_from_outside_keep_nothing(scene: CaseScenario, room: AnswerRoom) -> None:
    await scene.ask(response=replace(HANDED_OVER, people=names.GUESTS))
    await scene.act("reply", text="Restart the router in room 3.")
    await scene.news()
    (card,) = scene.teams.posts_in(names.GUESTS)

    dialog = await scene.visitor(names.GUEST).open(card, "Keep as answer")

    assert dialog.words == COLLEAGUES_ONLY
    assert await kept(room) == []
