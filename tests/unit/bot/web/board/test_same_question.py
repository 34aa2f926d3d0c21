"""Tests of cases of one question on the board: what is suggested, joined and parted."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from bot.domain.cases import ActDetail, Actor, Case
from bot.domain.messages import InteractionId, Person
from bot.store.database import Store
from bot.store.tables import EscalationRow
from bot.web.board.same_question import nearest
from tests.fakes.board_app import BoardBrowser, ask
from tests.fakes.builders import message
from tests.unit.bot.web.board.test_case_page import CASE

ANNA = Actor("anna", "Anna Lopez", "expert")
FIRST = "How do I extend my parking permit?"
NEAR = "Extend the parking permit, please: how?"
OFFERED = re.compile(r'name="act" value="join:([\w-]+)"')


async def asked(store: Store, name: str, text: str, **more: object) -> InteractionId:
    """Hand over a question just now."""
    found = await ask(store, name, text, **more)  # type: ignore[arg-type]  # as ask takes them
    change = update(EscalationRow).where(EscalationRow.interaction_id == found.id)
    async with store.transactions.writing() as connection:
        await connection.execute(change.values(opened_at=datetime.now(UTC), question=text))
    return found.id


def path(case_id: str) -> str:
    return f"/board/escalations/{case_id}"


async def case_of(store: Store, case_id: InteractionId) -> Case:
    found = await store.escalations.get("default", case_id)
    assert found is not None
    return found


async def test_a_similar_question_is_suggested_and_joined(desk: BoardBrowser, store: Store) -> None:
    first, second = await asked(store, "m1", FIRST), await asked(store, "m2", NEAR)
    await asked(store, "m3", "Where is the coffee?")

    page = await desk.get(path(second))
    assert OFFERED.findall(page) == [first]
    assert FIRST in html.unescape(page)
    joined = await desk.post(path(second), act=f"join:{first}")

    assert f'href="{path(first)}"' in joined
    assert (await case_of(store, second)).joined_to == first
    leading = await desk.get(path(first))
    assert f'href="{path(second)}"' in leading
    assert not OFFERED.findall(leading)


async def test_a_joined_case_is_parted_and_typed_text_is_kept(
    desk: BoardBrowser, store: Store
) -> None:
    first, second = await asked(store, "m1", FIRST), await asked(store, "m2", NEAR)
    await desk.post(path(second), act=f"join:{first}")

    page = await desk.post(path(second), act="split", reply="At the desk.")

    assert "At the desk." in page
    assert (await case_of(store, second)).joined_to is None
    assert "made it a case of its own" in page


async def test_the_leading_case_shows_numbers_and_no_words_of_others(
    desk: BoardBrowser, store: Store
) -> None:
    first, second = await asked(store, "m1", FIRST), await asked(store, "m2", "The permit of Zoe?")
    await store.escalations.join("default", second, first, ANNA)

    page = await desk.get(path(first))

    assert "Case 1" in page
    assert "Zoe" not in page


async def test_the_reply_box_says_that_all_who_asked_read_it(
    desk: BoardBrowser, store: Store
) -> None:
    first, second = await asked(store, "m1", FIRST), await asked(store, "m2", NEAR)
    by_ben = message(NEAR, message_id="m3", platform="slack", channel="C1", private=False)
    third = await asked(store, "m3", NEAR, asked=replace(by_ben, author=Person("ben", "Ben")))
    assert "everyone who asked" not in await desk.get(path(first))

    await store.escalations.join("default", third, first, ANNA)

    for shared in (first, third):
        assert "everyone who asked" in await desk.get(path(shared))
    assert "everyone who asked" not in await desk.get(path(second))
    for_all = ActDetail(shared_with=frozenset({first, third}))
    await store.escalations.act("default", first, "reply", ANNA, "At the desk.", for_all)
    twice = await desk.post(path(first), act="reply", reply="At the desk.")
    assert "is being sent to everyone who asked" in twice


async def test_what_can_not_be_joined_is_not_suggested_and_refused(
    desk: BoardBrowser, store: Store
) -> None:
    first = await asked(store, "m1", FIRST)
    elsewhere = message(NEAR, message_id="m2", platform="slack", channel="C2", private=False)
    second = await asked(store, "m2", NEAR, asked=elsewhere)

    assert not OFFERED.findall(await desk.get(path(second)))
    for lead in (first, second, "gone", ""):
        refused = await desk.post(path(second), 409, act=f"join:{lead}")
        assert 'class="refusal"' in refused
    await desk.post(path(second), 409, act="split")
    await desk.post(path("gone"), 404, act="split")
    assert (await case_of(store, second)).joined_to is None


async def test_a_question_of_long_ago_is_not_suggested(desk: BoardBrowser, store: Store) -> None:
    first, second = await asked(store, "m1", FIRST), await asked(store, "m2", NEAR)
    change = update(EscalationRow).where(EscalationRow.interaction_id == first)
    async with store.transactions.writing() as connection:
        old = datetime.now(UTC) - timedelta(days=8)
        await connection.execute(change.values(opened_at=old))

    assert not OFFERED.findall(await desk.get(path(second)))


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        (FIRST, NEAR, True),
        (FIRST, "How do I get a parking permit for guests in Berlin?", False),
        ("error 809 in the VPN", "error 810 in the VPN", False),
        ("how?", "why?", False),
    ],
)
def test_questions_are_near_if_they_share_half_of_their_words(
    one: str, other: str, *, near: bool
) -> None:
    assert bool(nearest(one, [replace(CASE, question=other)])) is near
