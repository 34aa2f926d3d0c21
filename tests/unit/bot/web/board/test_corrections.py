"""Tests of the board's page of corrected answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.learning.corrected_pages import CorrectedPages
from bot.learning.corrections import Correction, CorrectionState
from bot.store.database import Store
from bot.web.board.corrections import PATH, CorrectionsPage
from rag.ports import SearchIndex
from tests.fakes.board_app import CLOSED, OPEN, SECRET, BoardBrowser, TwoPageIndex, ask, board_app


@pytest.fixture
async def browser(store: Store, tmp_path: Path) -> AsyncIterator[BoardBrowser]:
    app = board_app(tmp_path, store)
    index = cast("SearchIndex", TwoPageIndex())
    corrected = CorrectedPages("default", store.corrections, index)
    CorrectionsPage(tenant="default", reports=store.corrections, corrected=corrected).mount(app)
    async with TestClient(TestServer(app)) as client:
        yield BoardBrowser(client, store)


async def correct(store: Store, *, closed: bool = False, state: CorrectionState = "told") -> None:
    asked = await ask(store, f"m{closed}{state}")
    page, now = (CLOSED if closed else OPEN), datetime.now(UTC)
    found = Correction(asked.id, page.space, page.page_id, now, state, None)
    await store.corrections.found("default", (), [found])


async def test_the_list_says_how_many_were_told_because_of_a_page(browser: BoardBrowser) -> None:
    await correct(browser.store)
    await correct(browser.store, state="refused")

    shown = await browser.get(PATH)

    assert OPEN.title in shown
    assert "1 answer</b> corrected" in shown
    assert "1 answer could not" in shown


async def test_who_may_not_read_a_page_sees_numbers_alone(browser: BoardBrowser) -> None:
    await correct(browser.store, closed=True)

    assert SECRET in await browser.of("ines").get(PATH)
    hidden = await browser.get(PATH)
    assert SECRET not in hidden
    assert CLOSED.page_id not in hidden
    assert "1 answer</b> corrected" in hidden


@pytest.mark.parametrize("decision", ["release", "drop"])
async def test_an_admin_decides_on_what_is_held_back(browser: BoardBrowser, decision: str) -> None:
    await correct(browser.store, state="held")
    await browser.post(PATH, 403, space=OPEN.space, decision=decision)
    assert "On hold" not in await browser.get(PATH)

    admin = browser.of("admin")
    assert "On hold" in await admin.get(PATH)
    await admin.post(PATH, 303, space=OPEN.space, decision=decision)

    assert await browser.store.corrections.held("default") == {}
    due = await browser.store.corrections.due("default", datetime.now(UTC), 5)
    assert len(due) == (decision == "release")
    (audited, *_) = await browser.store.audits.newest("default", 5)
    assert audited.act == f"corrections.{decision}"


async def test_an_unknown_decision_changes_nothing(browser: BoardBrowser) -> None:
    await correct(browser.store, state="held")

    await browser.of("admin").post(PATH, 422, space=OPEN.space, decision="")

    assert await browser.store.corrections.held("default") == {OPEN.space: 1}
