"""Test that who has a case in Teams sees more of the conversation if its asker agrees."""

from __future__ import annotations

from bot.chat.actions import ASKER_ONLY
from tests.fakes.teams import names
from tests.fakes.teams.builders import CaseScenario
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.people import personal_chat
from tests.fakes.teams.posts import Sent

ASK, SEE = "Ask to see more", "See what was said"
BEFORE = "1690000000000"


async def asked(scene: CaseScenario) -> Sent:
    """Have Anna claim a question and ask to see more; return the asker's buttons."""
    await scene.ask_before("is the **proxy** <at>needed</at>?", "Not at home.", id=BEFORE)
    await scene.ask()
    await scene.visitor().press(scene.card, "Claim")
    await scene.news()
    await scene.visitor().press(scene.card, ASK)
    await scene.news()
    return scene.told[-1]


async def agreed(scene: CaseScenario) -> None:
    await scene.visitor(names.ALICE).press(await asked(scene), "Show them")
    await scene.news()


def in_chat(scene: CaseScenario) -> list[str]:
    """Return what Anna got in her personal chat."""
    return [post.text for post in scene.teams.posts_in(personal_chat(names.ANNA).id)]


async def steps(scene: CaseScenario) -> list[str]:
    return [step.step for step in await scene.history()]


async def test_it_is_shown_in_their_personal_chat_once_the_asker_agrees(
    scene: CaseScenario,
) -> None:
    await agreed(scene)
    assert "You agreed" in scene.seen_by(names.ALICE, scene.told[-1])
    assert SEE in scene.card.labels
    await scene.visitor().press(scene.card, SEE)
    (shown,) = in_chat(scene)
    assert "agreed to show this, once" in shown
    assert "> is the" in shown
    assert "Not at home." in shown
    await scene.news()
    assert SEE not in scene.card.labels
    assert await steps(scene) == ["claim", "ask_more", "show_more", "see_more"]
    assert "proxy" not in repr([post.activity for post in scene.in_people])


async def test_nothing_is_shown_if_the_asker_says_no(scene: CaseScenario) -> None:
    await scene.visitor(names.ALICE).press(await asked(scene), "No")
    await scene.news()
    assert "You said no" in scene.seen_by(names.ALICE, scene.told[-1])
    assert SEE not in scene.card.labels


async def test_only_the_asker_can_agree(scene: CaseScenario) -> None:
    request = await asked(scene)
    anna = scene.visitor()
    await anna.press(request, "Show them")
    assert ASKER_ONLY in anna.told
    assert await steps(scene) == ["claim", "ask_more"]


async def test_only_who_has_it_can_look(scene: CaseScenario) -> None:
    await agreed(scene)
    await scene.visitor(names.BOB).press(scene.card, SEE)
    assert "It is assigned to Anna Lopez" in scene.seen_by(names.BOB)
    assert "see_more" not in await steps(scene)


async def test_a_look_that_teams_did_not_take_can_be_repeated(scene: CaseScenario) -> None:
    await agreed(scene)
    scene.teams.fail(Fault(status=403))
    await scene.visitor().press(scene.card, SEE)
    assert "see_more" not in await steps(scene)
    await scene.visitor().press(scene.card, SEE)
    assert "see_more" in await steps(scene)
