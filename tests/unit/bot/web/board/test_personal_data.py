"""Tests of the board's page of personal data: admins alone find, export and forget persons."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.domain.settings import Settings
from bot.store.database import Store
from bot.web.board.personal_data import PATH, PersonalDataPage
from tests.fakes.board_app import BoardBrowser, board_app
from tests.fakes.personal_data import CANARY, leave_traces, personal_data


@pytest.fixture
def hurried() -> list[str]:
    return []


@pytest.fixture
async def desk(tmp_path: Path, store: Store, hurried: list[str]) -> AsyncIterator[BoardBrowser]:
    app = board_app(tmp_path, store)
    PersonalDataPage(
        personal=personal_data(store, tmp_path),
        hurry=lambda: hurried.append("hurried"),
        settings=Settings(data_dir=tmp_path, openai_model="large"),
    ).mount(app)
    async with TestClient(TestServer(app)) as client:
        yield BoardBrowser(client, store, "admin")


async def test_admins_find_export_and_forget_a_person(
    desk: BoardBrowser, store: Store, hurried: list[str]
) -> None:
    await leave_traces(store, CANARY)

    found = await desk.get(f"{PATH}?person={CANARY.email}")
    assert CANARY.slack in found
    assert "5 in interactions" in found
    assert CANARY.word not in found
    exported = await desk.post(f"{PATH}/export", htmx=False, person=CANARY.teams)
    assert CANARY.word in json.dumps(json.loads(exported)["records"])
    await desk.post(f"{PATH}/forget", 303, htmx=False, person=CANARY.teams)

    (request,) = await store.forgetting.open_requests("default")
    assert CANARY.web in request.keys.ids
    assert request.pseudonym in await desk.get(PATH)
    assert hurried == ["hurried"]
    acts = await store.audits.newest("default", 2)
    assert [(each.act, each.actor) for each in acts] == [
        ("forget person", "board:Ada Root"),
        ("export person", "board:Ada Root"),
    ]


async def test_others_than_admins_see_and_change_nothing(desk: BoardBrowser, store: Store) -> None:
    await leave_traces(store, CANARY)
    for who in ("anna", "mika"):
        other = desk.of(who)
        await other.get(f"{PATH}?person={CANARY.email}", 403)
        await other.post(f"{PATH}/export", 403, htmx=False, person=CANARY.email)
        await other.post(f"{PATH}/forget", 403, htmx=False, person=CANARY.email)
    assert not await store.forgetting.open_requests("default")


async def test_who_is_not_known_or_not_one_person_is_refused(desk: BoardBrowser) -> None:
    assert "Nothing is stored about" in await desk.get(f"{PATH}?person=nobody")
    await desk.post(f"{PATH}/forget", 404, htmx=False, person="nobody")
    await desk.post(f"{PATH}/forget", 422, htmx=False, person="admin")
    await desk.post(f"{PATH}/export", 422, htmx=False)


async def test_the_page_says_what_leaves_this_machine(desk: BoardBrowser) -> None:
    page = await desk.get(PATH)
    on, _, off = page.partition("Off:")
    assert "api.openai.com" in on
    assert "Mail server" in off
    assert "Mail server" not in on


async def test_a_case_of_a_forgotten_asker_still_opens(desk: BoardBrowser, store: Store) -> None:
    asked = await leave_traces(store, CANARY)
    await forget_all(desk, store)

    listed = await desk.get("/board/escalations?show=all")
    shown = await desk.get(f"/board/escalations/{asked['case']}")

    assert "(forgotten)" in shown
    assert "Erin Expert" in shown
    assert CANARY.name not in listed + shown


async def forget_all(desk: BoardBrowser, store: Store) -> None:
    await desk.post(f"{PATH}/forget", 303, htmx=False, person=CANARY.teams)
    personal = personal_data(store, Path("nowhere"))
    (request,) = await store.forgetting.open_requests("default")
    await store.forgetting.carry_out("default", request, personal.cancel)
    for each in await store.work.unfinished():
        interaction = await store.work.get(each.id)
        if interaction is not None and interaction.status == "cancelling":
            await store.work.cancelled(each.id)
    progress = await store.forgetting.carry_out("default", request, personal.cancel)
    assert progress.done
