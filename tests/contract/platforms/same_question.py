"""One case for the same question: everybody who asked reads the answer in their own thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.messages import InteractionId
from tests.contract.platforms.driver import Missing, Question
from tests.contract.platforms.scenario import Scenario
from tests.fakes.desk import HANDED_OVER

PERMIT = "How do I extend my parking permit?"
HANDED_ON = replace(HANDED_OVER, question=PERMIT, suggestions=())

_FIRST = Question(PERMIT)
_SECOND = Question(PERMIT, number=2, thread=2, by="colleague")
_ANSWER = "At the front desk."


async def is_one_case(scene: Scenario) -> None:
    """Two ask the same; people are shown one question of two, and answer the one that joined."""
    joined = await _asked_by_two(scene)
    cards = await _cards(scene)
    scene.expect(len(cards) <= 1, f"people are shown {len(cards)} questions")
    scene.expect(all("2 people asked this" in each for each in cards), f"people read {cards}")
    await scene.people.act(joined, "reply", _ANSWER)
    await scene.people.tell()
    await scene.expect_shown(_FIRST, (_ANSWER,))
    await scene.expect_shown(_SECOND, (_ANSWER,))


async def leads_when_the_other_goes(scene: Scenario) -> None:
    """The card of the first goes with its question; the other has one, and is answered."""
    left = await _asked_by_two(scene)
    before = len(await _cards(scene))
    await scene.platform.delete(_FIRST)
    await scene.quiet()
    await scene.people.tell()
    cards = await _cards(scene)
    scene.expect(len(cards) == before, f"people are shown {cards}")
    await scene.people.act(left, "reply", _ANSWER)
    await scene.people.tell()
    await scene.expect_shown(_SECOND, (_ANSWER,))


async def is_told_to_each_once(scene: Scenario) -> None:
    """A process dies after it noted one of two answers as told, and another before it notes any."""
    joined = await _asked_by_two(scene)
    await scene.people.act(joined, "reply", _ANSWER)
    scene.expect(await scene.people.tell_and_die(noted=1), "one answer at most was told")
    scene.expect(await scene.people.tell_and_die(), "both answers were noted")
    await scene.people.tell()
    await scene.people.tell()
    await scene.expect_shown(_FIRST, (_ANSWER,))
    await scene.expect_shown(_SECOND, (_ANSWER,))


async def _asked_by_two(scene: Scenario) -> InteractionId:
    """Ask by two people; return the second question, which joined the first."""
    await scene.ask(_FIRST)
    await scene.ask(_SECOND)
    lead, joined = scene.inbox.kept
    case = await scene.case(joined)
    scene.expect(case.joined_to == lead, "the second question is a case of its own")
    await scene.people.tell()
    return joined


async def _cards(scene: Scenario) -> Sequence[str]:
    try:
        return await scene.platform.people()
    except Missing:
        return []
