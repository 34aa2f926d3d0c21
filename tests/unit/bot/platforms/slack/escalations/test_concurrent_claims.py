"""Test many people who claim one case at once, on both databases."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import cast

import pytest

from bot.domain.cases import Actor
from bot.domain.messages import InteractionId
from bot.domain.urls import with_driver
from bot.store.database import Store, sqlite_url, unopened
from tests.fakes.escalations import until
from tests.fakes.slack.builders import CaseScenario, question
from tests.fakes.slack.exchange import Answer
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import Post
from tests.sweeps.sizes import sizes


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("empty_record"), tmp_path)
        url = sqlite_url(tmp_path)
    else:
        url = with_driver(cast("str", request.getfixturevalue("postgres_url")))
    opened = unopened(url)
    yield opened
    await opened.close()


async def _press(scene: CaseScenario, user: str, card: Post) -> Answer:
    """Press, and press again what did not work: a busy machine may take too long for Slack."""
    while True:
        answer = await scene.visitor(user).click(card, "Claim")
        if answer.status == HTTPStatus.OK:
            return answer


@sizes("people", smoke=20, whole=200)
async def test_of_all_who_press_at_once_one_has_it_and_each_other_is_told_who(
    scene: CaseScenario, monkeypatch: pytest.MonkeyPatch, people: int
) -> None:
    monkeypatch.setattr("bot.platforms.slack.actions.interactivity.ACCEPT_SECONDS", 600.0)
    crowd = [f"U0CROWD{number:03d}" for number in range(people)]
    for number, user in enumerate(crowd):
        scene.slack.people[user] = Member(
            user, user.lower(), f"Person {number}", f"p{number}@acme.example"
        )
    await scene.ask()
    card = scene.card
    case_id = InteractionId(question().interaction_id)
    elsewhere = [
        Actor(f"w{number}@acme.example", f"Colleague {number}", "expert")
        for number in range(people // 2)
    ]
    pressed = [_press(scene, user, card) for user in crowd]
    claimed = [scene.act("claim", actor, id=case_id) for actor in elsewhere]
    answers = await asyncio.gather(*pressed, *claimed, return_exceptions=True)

    owner = (await scene.case()).status
    assert [step.step for step in await scene.history()] == ["claim"]
    said = f"It is assigned to {owner.owner_name}. Leave it to them or ask them to release it."
    losers = [user for user in crowd if scene.slack.people[user].real_name != owner.owner_name]
    await until(lambda: all(scene.whispered(user) for user in losers), seconds=600)
    assert {told for user in losers for told in scene.whispered(user)} == {said}
    refused = [each for each in answers[len(crowd) :] if isinstance(each, Exception)]
    assert len(refused) == len(elsewhere) - (owner.owner_id.startswith("w"))
    assert {str(each) for each in refused} == {said}
    await scene.news()
    assert f"*Claimed by {owner.owner_name}*" in scene.card.shown
    edited = [each for each in scene.slack.requests if each.method == "chat.update"]
    assert len(edited) < 5
