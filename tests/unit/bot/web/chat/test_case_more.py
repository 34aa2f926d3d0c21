"""Tests of agreeing in the web chat that who has a question sees more of the conversation."""

from __future__ import annotations

import pytest

from bot.domain.cases import Act, Actor
from bot.domain.messages import InteractionId
from bot.escalations.showing_more import request_in
from bot.store.database import Store
from tests.fakes.chat_app import Browser

ASKING: tuple[Act, ...] = ("claim", "ask_more")
ANNA = Actor("anna", "Anna Lopez", "expert")


async def requested(browser: Browser, store: Store) -> tuple[str, InteractionId]:
    """Have Anna ask to see more; return the card's path and the case's id."""
    path, _ = await browser.ask("a person, please")
    case_id = InteractionId(path.rpartition("/")[2])
    for act in ASKING:
        await store.escalations.act("default", case_id, act, ANNA)
    return f"{path}/case", case_id


@pytest.mark.parametrize(("act", "allowed"), [("show_more", True), ("keep_more", None)])
async def test_the_asker_agrees_or_not_on_the_card(
    browser: Browser, store: Store, act: str, *, allowed: bool | None
) -> None:
    path, case_id = await requested(browser, store)
    card = await browser.get(path)
    assert "Anna Lopez would like to see" in card
    for _ in range(2):
        card = await browser.post(path, act=act, about="3")
        assert "would like to see" not in card
        assert "refused" not in card
    request = request_in(await store.escalations.steps("default", case_id))
    assert (request.allowed if request else None) is allowed


@pytest.mark.parametrize("about", ["", "x", "2", "99"])
async def test_an_answer_to_no_request_changes_nothing(
    browser: Browser, store: Store, about: str
) -> None:
    path, case_id = await requested(browser, store)
    assert "refused" in await browser.post(path, act="show_more", about=about)
    steps = await store.escalations.steps("default", case_id)
    assert [each.step for each in steps][-1] == "ask_more"
