"""Test that who has a case on Slack sees more of the conversation if its asker agrees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.actions import ASKER_ONLY
from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.platforms.slack import mount
from bot.platforms.slack.channel import connect
from tests.fakes.escalations import until
from tests.fakes.scenarios import BEN
from tests.fakes.slack.builders import CaseScenario, Clock
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ALICE, ANNA, BOB
from tests.fakes.slack.posts import Post, View

ASK, SEE = "Ask to see more", "See what was said"
BEFORE = "1690000000.000100"


async def claimed(scene: CaseScenario) -> None:
    """Have Anna claim a question that came after another one of its asker."""
    await scene.ask_before("is <!channel> the *proxy* needed?", "Not at home.", id=BEFORE)
    await scene.ask()
    await scene.visitor().click(scene.card, "Claim")
    await scene.news()


async def asked(scene: CaseScenario) -> Post:
    """Have Anna ask to see more; return what the asker gets."""
    await claimed(scene)
    await scene.visitor().click(scene.card, ASK)
    await scene.news()
    return scene.told[-1]


def modals(scene: CaseScenario) -> list[View]:
    return list(scene.slack.open_views)


async def steps(scene: CaseScenario) -> list[str]:
    return [step.step for step in await scene.history()]


async def test_it_is_shown_for_their_eyes_once_the_asker_agrees(scene: CaseScenario) -> None:
    request = await asked(scene)
    assert request.shown.startswith("*Anna Lopez* would like to see")
    assert request.labels == ["Show them", "No"]
    assert not {ASK, SEE} & set(scene.card.labels)

    await scene.visitor(ALICE).click(request, "Show them")
    await scene.news()
    assert scene.told[-1].labels == []
    assert "You agreed" in scene.told[-1].shown
    assert "proxy" not in repr([post.payload for post in scene.slack.posts])

    await scene.visitor().click(scene.card, SEE)
    (modal,) = modals(scene)
    assert "is &lt;!channel&gt; the *proxy* needed?" in modal.shown
    assert "Not at home." in modal.shown
    await scene.news()
    assert SEE not in scene.card.labels
    assert await steps(scene) == ["claim", "ask_more", "show_more", "see_more"]


async def test_who_has_it_is_called_when_the_asker_agreed(scene: CaseScenario) -> None:
    await scene.visitor(ALICE).click(await asked(scene), "Show them")
    await scene.news()
    called = [post.shown for post in scene.slack.in_channel(scene.card.channel)]
    assert any("agreed to show earlier messages" in each for each in called)


async def test_nothing_is_shown_if_the_asker_says_no(scene: CaseScenario) -> None:
    await scene.visitor(ALICE).click(await asked(scene), "No")
    await scene.news()
    assert "You said no" in scene.told[-1].shown
    assert SEE not in scene.card.labels
    assert ASK in scene.card.labels


async def test_only_the_asker_can_agree(scene: CaseScenario) -> None:
    request = await asked(scene)
    for user in (ANNA, BOB):
        await scene.visitor(user).click(request, "Show them")
        await until(lambda user=user: scene.whispered(user) == [ASKER_ONLY])  # type: ignore[misc]
    assert await steps(scene) == ["claim", "ask_more"]


async def test_only_who_has_it_can_look(scene: CaseScenario) -> None:
    await scene.visitor(ALICE).click(await asked(scene), "Show them")
    await scene.news()
    await scene.visitor(BOB).click(scene.card, SEE)
    await until(lambda: scene.whispered(BOB))
    assert modals(scene) == []
    assert "see_more" not in await steps(scene)


async def test_pressing_twice_asks_and_agrees_once(scene: CaseScenario) -> None:
    await claimed(scene)
    card = scene.card
    for _ in range(2):
        await scene.visitor().click(card, ASK)
    await scene.news()
    request = scene.told[-1]
    for _ in range(2):
        await scene.visitor(ALICE).click(request, "Show them")
    assert await steps(scene) == ["claim", "ask_more", "show_more"]


async def test_an_agreement_ends_with_the_case(scene: CaseScenario) -> None:
    request = await asked(scene)
    await scene.act("resolve")
    await scene.visitor(ALICE).click(request, "Show them")
    await until(lambda: scene.whispered(ALICE))
    assert "no longer open" in scene.whispered(ALICE)[0]


async def test_a_request_is_not_told_once_it_fell_away(scene: CaseScenario) -> None:
    await claimed(scene)
    await scene.visitor().click(scene.card, ASK)
    await scene.act("release")
    before = len(scene.told)
    await scene.news()
    assert len(scene.told) == before


async def test_a_look_that_slack_did_not_open_can_be_repeated(scene: CaseScenario) -> None:
    await scene.visitor(ALICE).click(await asked(scene), "Show them")
    await scene.news()
    scene.slack.fail("views.open", Fault(error="expired_trigger_id"))
    await scene.visitor().click(scene.card, SEE)
    assert "see_more" not in await steps(scene)
    await scene.visitor().click(scene.card, SEE)
    assert len(modals(scene)) == 1


async def test_without_earlier_questions_it_is_not_offered(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.visitor().click(scene.card, "Claim")
    await scene.news()
    assert ASK not in scene.card.labels


async def test_a_case_of_another_is_no_place_to_ask(scene: CaseScenario) -> None:
    await claimed(scene)
    card = scene.card
    await scene.act("release")
    await scene.act("claim", BEN)
    await scene.visitor().click(card, ASK)
    await until(lambda: scene.whispered(ANNA))
    assert "ask_more" not in await steps(scene)


@pytest.mark.parametrize("value", ["x:2", "{id}", "{id}:0", "{id}:x", "{id}:99"])
async def test_a_forged_answer_shows_nothing(scene: CaseScenario, value: str) -> None:
    request = await asked(scene)
    case_id = scene.question.interaction_id
    *_, row = request.payload["blocks"]
    row["elements"][0]["value"] = value.format(id=case_id)
    await scene.visitor(ALICE).click(request, "Show them")
    assert "show_more" not in await steps(scene)


async def test_an_agreement_outlives_the_process_that_took_it(
    scene: CaseScenario, settings: Settings, clock: Clock
) -> None:
    """The first process dies before it tells anybody; what the second finds is in the record."""
    await scene.visitor(ALICE).click(await asked(scene), "Show them")
    await scene.client.close()
    channel, app = connect(settings, scene.store.notes, caller=clock.caller()), web.Application()
    mount(app, channel, scene.context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        second = replace(scene, channel=channel, client=client)
        await second.news()
        await second.visitor().click(second.card, SEE)
        assert "Not at home." in modals(second)[0].shown


async def test_a_look_that_was_not_recorded_can_be_repeated(
    scene: CaseScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between showing it and recording that it was seen."""
    await scene.visitor(ALICE).click(await asked(scene), "Show them")
    await scene.news()
    with monkeypatch.context() as dying:
        dying.setattr(scene.context.casework, "act", _died)
        await scene.visitor().click(scene.card, SEE)
    assert "see_more" not in await steps(scene)
    await scene.visitor().click(scene.card, SEE)
    first, again = modals(scene)
    assert first.shown == again.shown
    assert "see_more" in await steps(scene)


async def _died(*_: object) -> None:
    raise StoreUnavailable("The process died here.")
