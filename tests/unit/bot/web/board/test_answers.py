"""Tests of the pages and the API of answers by people, over a real record and index."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from aiohttp import FormData
from aiohttp.test_utils import TestClient, TestServer

from bot.store.database import Store
from bot.web.api import ReviewedAnswersApi
from bot.web.board.answers import AnswerPages
from bot.web.chat import stored_pages
from bot.web.chat.stored_pages import StoredPageRoutes
from bot.web.pages import add_pages
from tests.fakes.answers import ANNA, EVERYBODY, HR, AnswerRoom, answer_room, viewer
from tests.fakes.board_app import BoardBrowser, board_app

UNTIL = "2099-05-31"


@pytest.fixture
async def room(store: Store, tmp_path: Path) -> AsyncIterator[AnswerRoom]:
    async with answer_room(store, tmp_path) as made:
        yield made


@asynccontextmanager
async def served(room: AnswerRoom) -> AsyncIterator[BoardBrowser]:
    app = board_app(room.data_dir, room.store)
    AnswerPages(tenant="default", review=room.review).mount(app)
    add_pages(app, Path(stored_pages.__file__).parent)
    StoredPageRoutes(room.index, "default").mount(app)
    api = ReviewedAnswersApi(tenant="default", review=room.review)
    app.router.add_get("/api/v2/answers", api.list)
    app.router.add_post("/api/v2/answers", api.keep)
    app.router.add_get("/api/v2/answers/{id}", api.one)
    app.router.add_post("/api/v2/answers/{id}/{act}", api.act)
    async with TestClient(TestServer(app)) as client:
        yield BoardBrowser(client, room.store)


async def test_an_answered_case_offers_to_keep_the_answer(room: AnswerRoom) -> None:
    case = await room.answered_case()
    async with served(room) as browser:
        page = await browser.get(f"/board/escalations/{case}")
        assert f"/board/answers/new?case={case}" in page

        draft = await browser.get(f"/board/answers/new?case={case}")
        assert "Hold both buttons for ten seconds." in draft
        assert await room.review.of_case(case) == ""


async def test_a_draft_is_approved_from_its_page_and_found(room: AnswerRoom) -> None:
    case = await room.answered_case()
    async with served(room) as browser:
        await browser.post(
            "/board/answers/new",
            303,
            case=case,
            question="How do I reset the token?",
            text="Hold both buttons.",
            readers="everyone",
            until=UNTIL,
            act="approve",
        )
        await room.shelf.runs.settled()

        (found,) = await room.found("reset token")
        assert "Hold both buttons." in await browser.of("mika").get(found.url)
        assert "How do I reset the token?" in await browser.get("/board/answers?state=live")


async def test_what_was_typed_is_kept_where_an_act_is_refused(room: AnswerRoom) -> None:
    answer = await room.kept(await room.answered_case())
    async with served(room) as browser:
        page = await browser.post(
            f"/board/answers/{answer.id}",
            409,
            version="0",
            question="Mine?",
            text="My words.",
            until=UNTIL,
            act="approve",
        )

    assert "My words." in page
    assert 'role="alert"' in page


async def test_an_old_form_is_refused(room: AnswerRoom) -> None:
    answer = await room.live()
    async with served(room) as browser:
        await browser.post(f"/board/answers/{answer.id}", 409, version="0", act="withdraw")


async def test_only_its_readers_open_the_page_of_an_answer(room: AnswerRoom) -> None:
    restricted = await room.page("plan", (frozenset({HR}),))
    room.groups["mika"] = (HR,)
    case = await room.answered_case("Plan?", channel="", found=[restricted])
    answer = await room.live(case, question="Where is the plan?", chosen=EVERYBODY)
    async with served(room) as browser:
        await browser.of("mika").get(f"/answers/{answer.id}", 404)
        assert "Where is the plan?" in await browser.of("ines").get(f"/answers/{answer.id}")
        await browser.of("ben").get(f"/board/answers/{answer.id}", 404)
        assert "Where is the plan?" not in await browser.of("ben").get("/board/answers?state=live")
        assert "Where is the plan?" not in await browser.of("ben").get("/board/answers.csv")


@pytest.mark.parametrize("path", ["", "/new?case=c", ".csv"])
async def test_askers_do_not_see_the_pages(room: AnswerRoom, path: str) -> None:
    async with served(room) as browser:
        await browser.of("mika").get(f"/board/answers{path}", 403)


async def test_the_csv_has_every_answer(room: AnswerRoom) -> None:
    answer = await room.live(variants=("Token locked?",))
    async with served(room) as browser:
        text = await browser.get("/board/answers.csv")

    (row,) = csv.DictReader(StringIO(text.removeprefix("\ufeff")))
    assert (row["id"], row["state"], row["variants"]) == (answer.id, "live", "Token locked?")


async def test_the_api_keeps_and_approves_an_answer(room: AnswerRoom) -> None:
    case = await room.answered_case()
    async with served(room) as browser:
        headers = {"X-Who": "anna", "Origin": str(browser.client.make_url("/")).rstrip("/")}
        kept = await browser.client.post("/api/v2/answers", json={"case": case}, headers=headers)
        draft = await kept.json()
        assert (kept.status, draft["state"], draft["version"]) == (200, "draft", 0)
        path = f"/api/v2/answers/{draft['id']}/approve"
        sent = {"version": 0, "text": "Hold both."}
        approved = await browser.client.post(path, json=sent, headers=headers)
        assert (await approved.json())["state"] == "live"
        again = await browser.client.post(path, json=sent, headers=headers)
        assert again.status == 409
        listed = await browser.client.get("/api/v2/answers?state=live", headers=headers)
        assert [each["text"] for each in (await listed.json())["answers"]] == ["Hold both."]


async def test_the_second_reviewer_is_told_that_the_first_was_quicker(room: AnswerRoom) -> None:
    answer = await room.kept(await room.answered_case())
    async with served(room) as browser:
        await browser.post(f"/board/answers/{answer.id}", 303, version="0", act="approve")
        await browser.of("ben").post(f"/board/answers/{answer.id}", 409, version="0", act="reject")

    details = await room.review.one(answer.id, viewer(ANNA), ANNA)
    assert details.answer.state == "live"


async def test_where_two_are_asked_for_a_draft_can_not_be_approved(room: AnswerRoom) -> None:
    room.by_second = True
    case = await room.answered_case()
    async with served(room) as browser:
        page = await browser.get(f"/board/answers/new?case={case}")

    assert 'value="submit"' in page
    assert 'value="approve"' not in page


async def test_a_file_of_standard_answers_is_tried_and_taken(room: AnswerRoom) -> None:
    file = "question,answer\nWhen is payroll?,On the 25th.\n,Nothing.\n"
    async with served(room) as browser:
        origin = str(browser.client.make_url("/")).rstrip("/")
        headers = {"Accept": "text/html", "X-Who": "anna", "Origin": origin}
        for dry_run, found in (("1", False), ("0", True)):
            form = FormData({"dry_run": dry_run})
            form.add_field("file", file.encode(), filename="a.csv", content_type="text/csv")
            sent = await browser.client.post("/board/answers/import", data=form, headers=headers)
            assert "Line 3" in await sent.text()
            await room.shelf.runs.settled()
            assert bool(await room.found("payroll")) is found
