"""What people do about a question that was asked by command: told to its asker, directly."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from bot.domain.handoff import PERSON_REQUEST
from bot.domain.messages import Message, Thread
from tests.bot.adapters.outcomes import HANDED_OVER
from tests.bot.adapters.slack.questions import DIRECT, HELP, question
from tests.bot.adapters.slack.scenes import Scene
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.interactions import response_url


def by_command(scene: Scene) -> Message:
    """Return a question as the command brings it."""
    url = response_url(scene.slack, names.ALICE, HELP, None)
    return replace(
        question(private=True),
        id="command:1.2.abc",
        thread=Thread("slack", "acme", HELP, "command:1.2.abc"),
        reply_to=json.dumps({"response_url": url}),
    )


async def replied(scene: Scene) -> Message:
    asked = by_command(scene)
    await scene.ask(asked)
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    return asked


async def test_a_reply_of_people_goes_to_its_asker_and_not_into_the_channel(scene: Scene) -> None:
    await replied(scene)
    await scene.news()

    (told,) = scene.slack.answers(DIRECT)
    assert "*Anna Lopez* answered:\nRoom 3." in told.shown
    assert "You asked by command: vpn down?" in told.shown
    assert scene.slack.answers(HELP) == []


async def test_a_wish_by_button_is_told_by_the_question_that_people_were_asked(
    scene: Scene,
) -> None:
    asked = replace(by_command(scene), text=PERSON_REQUEST)
    await scene.ask(asked, replace(HANDED_OVER, question="vpn down?"))
    assert "Asked by a command" in scene.card.shown
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    await scene.news()

    (told,) = scene.slack.answers(DIRECT)
    assert "You asked by command: vpn down?" in told.shown


async def test_told_twice_it_is_there_once(scene: Scene) -> None:
    await replied(scene)
    scene.slack.fail("chat.postMessage", Fault(status=500, after=True))
    await scene.news()
    scene.ahead += timedelta(hours=1)
    await scene.news()

    assert len(scene.slack.answers(DIRECT)) == 1


async def test_the_asker_closes_it_there(scene: Scene) -> None:
    asked = await replied(scene)
    await scene.news()
    (told,) = scene.slack.answers(DIRECT)

    await scene.visitor(names.ALICE).click(told, "This helped, close it")

    case = await scene.store.escalations.get("acme", asked.interaction_id)
    assert case is not None
    assert case.standing.state == "resolved"
