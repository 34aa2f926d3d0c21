"""What an asker does about a question that people were asked, in the thread of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.errors import StoreUnavailable
from bot.store.database import Store
from tests.bot.adapters.slack.questions import HELP, PEOPLE, question
from tests.bot.adapters.slack.scenes import Scene
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.escalations.fakes import until


async def replied(scene: Scene) -> None:
    await scene.ask()
    await scene.act("reply", text="Room 3.")
    await scene.news()


async def test_it_helped_and_is_closed(scene: Scene) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "This helped, close it")
    await scene.news()
    assert (await scene.case()).standing.state == "resolved"
    (told,) = scene.told
    assert told.shown.splitlines() == [
        "*Anna Lopez* answered:",
        "Room 3.",
        "You closed it.",
        "Ask again",
    ]
    assert "*Closed by the one who asked*" in scene.card.shown


async def test_asking_again_calls_people_and_says_no_more_than_that(scene: Scene) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "Ask again")
    await scene.news()
    assert (await scene.case()).standing.state == "reopened"
    called = scene.slack.in_channel(PEOPLE)[1]
    assert "*A question was opened again* and nobody has it." in called.shown
    assert scene.told[-1].shown.splitlines()[-2:] == ["You asked again.", "I no longer need it"]
    assert scene.card.labels[0] == "Claim"


async def test_only_the_last_news_have_buttons(scene: Scene) -> None:
    await scene.ask()
    for what in ("claim", "reply", "resolve", "reopen"):
        await scene.act(what, text="words")
        await scene.news()
        assert [bool(post.labels) for post in scene.told].count(True) == 1
        assert scene.told[-1].labels
    assert [post.shown.splitlines()[0] for post in scene.told] == [
        "*Anna Lopez* has taken your question.",
        "*Anna Lopez* answered:",
        "*Anna Lopez* closed your question:",
        "*Anna Lopez* opened your question again:",
    ]


async def test_a_release_is_not_told_and_leaves_what_can_still_be_done(scene: Scene) -> None:
    await scene.ask()
    await scene.act("reply", text="Room 3.")
    await scene.news()
    await scene.act("release")
    await scene.news()
    (told,) = scene.told
    assert told.labels == ["I no longer need it"]


async def test_others_are_told_that_it_is_not_theirs(scene: Scene) -> None:
    await replied(scene)
    await scene.visitor(names.BOB).click(scene.told[-1], "Ask again")
    await until(lambda: scene.whispered(names.BOB))
    assert scene.whispered(names.BOB) == ["Only the one who asked can do this."]
    assert (await scene.case()).standing.state == "answered"


async def test_a_button_that_was_left_over_says_how_it_is_now(scene: Scene) -> None:
    await scene.ask()
    await scene.act("claim")
    await scene.news()
    alice = scene.visitor(names.ALICE)
    left_over = scene.slack.write(names.BOT_USER, HELP, dict(scene.told[0].payload), question().id)
    left_over.payload["blocks"][-1]["elements"][0]["action_id"] = "asker_reopen"
    await alice.click(left_over, "asker_reopen")
    await until(lambda: scene.whispered(names.ALICE))
    assert "has your question and has not answered yet" in scene.whispered(names.ALICE)[0]


async def test_pressing_twice_is_pressing_once(scene: Scene) -> None:
    await replied(scene)
    alice = scene.visitor(names.ALICE)
    for _ in range(2):
        await alice.click(scene.told[-1], "asker_close")
    assert [step.step for step in await scene.history()] == ["reply", "resolve"]


async def test_it_is_pressed_where_it_was_asked(scene: Scene) -> None:
    await replied(scene)
    copy = scene.slack.write(names.BOT_USER, PEOPLE, dict(scene.told[0].payload))
    await scene.visitor(names.ALICE).click(copy, "Ask again")
    await until(lambda: scene.whispered(names.ALICE))
    assert "isn't here any more" in scene.whispered(names.ALICE)[0]


async def test_in_a_direct_message_it_is_the_same(scene: Scene) -> None:
    asked = question(private=True)
    await scene.ask(asked)
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    await scene.news()
    told = scene.slack.in_thread(asked.thread.channel, asked.thread.id)[-1]
    await scene.visitor(names.ALICE).click(told, "This helped, close it")
    steps = await scene.store.escalations.steps("acme", asked.interaction_id)
    assert [step.step for step in steps] == ["open", "reply", "resolve"]


async def test_what_could_not_be_edited_is_edited_later(scene: Scene) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "Ask again")
    scene.slack.fail("chat.update", None, Fault(status=500))
    await scene.news()
    scene.ahead = timedelta(minutes=1)
    await scene.news()
    assert scene.told[-1].labels == ["I no longer need it"]
    assert len(scene.slack.in_channel(PEOPLE)) == 2


async def test_the_asker_is_told_though_nothing_can_be_noted(
    scene: Scene, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.ask()

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The record is away.")

    monkeypatch.setattr(store.notes, "put", away)
    await scene.act("claim")
    await scene.news()
    assert len(scene.told) == 1


async def test_news_that_somebody_deleted_stop_nothing(scene: Scene) -> None:
    await replied(scene)
    scene.slack.posts.remove(scene.told[0])
    await scene.act("resolve")
    await scene.news()
    assert [post.shown.splitlines()[0] for post in scene.told] == [
        "*Anna Lopez* closed your question."
    ]
