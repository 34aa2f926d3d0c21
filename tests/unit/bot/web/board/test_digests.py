"""Tests of the page of digests: who sees and switches which, and mail."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.domain.messages import Person
from bot.learning.digest import Subscription
from bot.store.database import Store
from bot.web.board.digests import PATH
from tests.fakes.board_app import OPEN, PEOPLE, SURE, BoardBrowser, TwoPageIndex, ask, board, source
from tests.fakes.builders import NOON
from tests.fakes.learning import collect_facts

CHANNEL = Subscription("slack:C1", "Anna", NOON)
BENS = Subscription("email:ben@acme.example", "Ada", NOON, email="ben@acme.example")


@pytest.fixture(autouse=True)
def _ben_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    ben = PEOPLE["ben"]
    with_email = replace(ben, person=Person("ben", "Ben Okafor", email="Ben@acme.example"))
    monkeypatch.setitem(PEOPLE, "ben", with_email)


async def subscribed(store: Store, *wanted: Subscription) -> None:
    for each in wanted:
        await store.digests.subscribe("default", each, actor="board:root")


async def off(store: Store, target: str) -> bool:
    found = await store.digests.one("default", target)
    assert found is not None
    return found.off


async def test_experts_see_and_switch_their_own_and_admins_all(
    desk: BoardBrowser, store: Store
) -> None:
    await subscribed(store, CHANNEL, BENS)

    assert "C1" not in await desk.of("ben").get(PATH)
    assert "ben@acme.example" in await desk.of("ben").get(PATH)
    assert "ben@acme.example" not in await desk.get(PATH)
    await desk.get(PATH)
    await desk.post(PATH, 404, htmx=False, target=BENS.target, switch="off")
    await desk.of("ben").post(PATH, 303, htmx=False, target=BENS.target, switch="off")
    await desk.of("ben").post(PATH, 404, htmx=False, target=CHANNEL.target, switch="off")
    await desk.of("admin").post(PATH, 303, htmx=False, target=CHANNEL.target, switch="off")
    assert await off(store, BENS.target)
    assert await off(store, CHANNEL.target)

    await desk.of("admin").post(PATH, 303, htmx=False, target=CHANNEL.target, switch="on")
    assert not await off(store, CHANNEL.target)
    acts = await store.audits.newest("default", 10)
    assert [each.act for each in acts][:2] == ["digest on", "digest off"]


async def test_an_expert_gets_mail_at_their_own_address_alone(
    desk: BoardBrowser, store: Store
) -> None:
    ben = desk.of("ben")
    await ben.post(PATH, 303, htmx=False, email="ben@acme.example")
    await ben.post(PATH, 403, htmx=False, email="zoe@acme.example")
    await desk.of("admin").post(PATH, 303, htmx=False, email="Zoe@acme.example")
    await desk.of("admin").post(PATH, 422, htmx=False, email="zoe acme")

    found = await store.digests.listed("default")
    assert [(each.target, each.email) for each in found] == [
        ("email:ben@acme.example", "ben@acme.example"),
        ("email:zoe@acme.example", "zoe@acme.example"),
    ]


async def test_askers_see_none(desk: BoardBrowser) -> None:
    await desk.of("mika").get(PATH, 403)


async def test_admins_see_owners_who_are_not_told_and_tell_them(
    tmp_path: Path, store: Store
) -> None:
    page = replace(OPEN, updated_at=datetime(2026, 1, 5, tzinfo=UTC), updated_by="Zoe Editor")
    cited = (replace(source(OPEN), space=OPEN.space),)
    await ask(store, response=replace(SURE, sources=cited))
    await collect_facts(store)

    async with board(tmp_path, store, TwoPageIndex([page])) as desk:
        admin = desk.of("admin")
        assert "Zoe Editor" not in await desk.get(PATH)
        assert "Notify Zoe Editor" in await admin.get(PATH)
        tell = {"email": "zoe@acme.example", "owner": "Zoe Editor"}
        await desk.of("ben").post(PATH, 403, htmx=False, **tell)
        await admin.post(PATH, 303, htmx=False, **tell)
        assert "Notify Zoe Editor" not in await admin.get(PATH)
        await admin.post(PATH, 303, htmx=False, email="bo@acme.example")
        await admin.post(PATH, 409, htmx=False, email="bo@acme.example", owner="Bo")

    found = await store.digests.one("default", "email:zoe@acme.example")
    assert found is not None
    assert found.owner == "Zoe Editor"
