"""Seeing more of a conversation: nothing is shown unless who asked agrees, and then once."""

from __future__ import annotations

from bot.answering.permitted_views import EarlierExchange
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from rag.types import EVERYONE
from tests.contract.platforms.actions import buttons_of, card_of
from tests.contract.platforms.driver import Question
from tests.contract.platforms.scenario import ANNA, Scenario

EARLIER = Question("is the proxy needed at home?")
_ASKED = Question("a person, please", number=2)
ASK, SEE, SHOW, KEEP = "Ask to see more", "See what was said", "Show them", "No"
_WANTED = "would like to see"
_OVER = "no longer open"


async def is_agreed_to(scene: Scenario) -> None:
    """Anna asks to see more; who asked reads that and agrees; she sees it once."""
    case_id = await _requested(scene)
    await scene.expect_shown(EARLIER, (_WANTED,))
    await _expect_refused(scene, case_id, "before who asked agreed")

    await (await buttons_of(scene).request_button(_ASKED, SHOW))()
    (shown,) = await _more(scene, case_id)
    scene.expect(shown.question == EARLIER.text, f"Anna sees {shown.question!r}")
    await scene.people.act(case_id, "see_more")
    await _expect_refused(scene, case_id, "a second time")


async def is_refused(scene: Scenario) -> None:
    """Who asked says no: nothing is shown."""
    case_id = await _requested(scene)
    await (await buttons_of(scene).request_button(_ASKED, KEEP))()
    await _expect_refused(scene, case_id, "although who asked said no")


async def is_over(scene: Scenario) -> None:
    """Anna gave the case back before who asked answers: the old button only says so."""
    case_id = await _requested(scene)
    show = await buttons_of(scene).request_button(_ASKED, SHOW)
    await scene.people.act(case_id, "release")
    scene.expect(_OVER in await show(), "who asked is not told that it is over")
    await _expect_refused(scene, case_id, "by an old button")


async def is_seen_alone(scene: Scenario) -> None:
    """Anna does it all by the card's buttons; what she sees is for her eyes."""
    card = card_of(scene)
    await scene.ask(EARLIER)
    await scene.escalate(_ASKED)
    await card.claim("anna")
    await scene.people.tell()
    await card.press("anna", ASK)
    await scene.people.tell()
    await (await buttons_of(scene).request_button(_ASKED, SHOW))()
    await scene.people.tell()
    await card.press("anna", SEE)
    scene.expect(EARLIER.text in await card.alone("anna"), "Anna does not see it")
    scene.expect(EARLIER.text not in await card.shown(), "all see it on the card")
    cards = "\n".join(await scene.platform.people())
    scene.expect(EARLIER.text not in cards, "all see it where people are asked")


async def _requested(scene: Scenario) -> InteractionId:
    await scene.ask(EARLIER)
    case_id = await scene.escalate(_ASKED)
    await scene.people.act(case_id, "claim")
    await scene.people.act(case_id, "ask_more")
    await scene.people.tell()
    return case_id


async def _more(scene: Scenario, case_id: InteractionId) -> tuple[EarlierExchange, ...]:
    works, tenant = scene.people.works(), scene.people.tenant
    return await works.more(tenant, case_id, ANNA, frozenset({EVERYONE}))


async def _expect_refused(scene: Scenario, case_id: InteractionId, when: str) -> None:
    try:
        await _more(scene, case_id)
    except ActRefused:
        return
    scene.expect(fact=False, fault=f"Anna sees it {when}")
