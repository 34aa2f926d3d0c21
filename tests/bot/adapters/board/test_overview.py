"""The overview over real HTTP: what is told of a busy record, of an empty one, and to whom."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.health import ComponentStatus
from bot.store.database import Store, open_store, sqlite_url
from tests.bot.adapters.board.state_app import Client, Told, state_app
from tests.bot.server import BEARER, TOKEN, settings_for
from tests.bot.store.busy_record import fill
from tests.bot.store.filled import add_escalation, add_interaction


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url(tmp_path))
    yield opened
    await opened.close()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def client(store: Store, tmp_path: Path, told: Told) -> AsyncIterator[Client]:
    async with state_app(store, settings_for(tmp_path), told) as opened:
        yield opened


async def page(client: Client, path: str = "/board") -> str:
    response = await client.get(path)
    assert response.status == 200
    return (await response.text()).replace("\xa0", " ")


async def test_an_empty_record_says_what_will_be_here_and_how_to_begin(client: Client) -> None:
    shown = await page(client)

    assert "Nothing has been asked yet" in shown
    assert '<a class="main" href="/">Ask the first question</a>' in shown
    assert "<svg" not in shown.partition("</header>")[2]


async def test_a_busy_week_is_told_in_words_figures_and_charts(
    store: Store, client: Client
) -> None:
    record = await fill(store, datetime.now(UTC), days=14, a_day=20)

    shown = await page(client)

    asked = int(re.search(r"In the last 7 days ([\d,]+) questions came in", shown)[1])  # type: ignore[index]  # it is there
    assert 0 < asked < sum(len(rows) for rows in record.rows.values())
    assert f'<p class="value">{asked}</p>' in shown
    assert shown.count('role="img"') == 3
    assert shown.count('<tr><th scope="row">20') == 3 * 7
    assert "until the first reply" in shown


async def test_a_span_without_a_question_says_so_and_draws_nothing(
    store: Store, client: Client
) -> None:
    await add_interaction(store, "old", at=datetime.now(UTC) - timedelta(days=10))

    shown = await page(client)

    assert "Nobody asked anything in the last 7 days; in the 7 before it was 1 question." in shown
    assert 'role="img"' not in shown
    assert "1 question came in" in await page(client, "/board?days=30")


@pytest.mark.parametrize("asked", ["", "?days=8", "?days=nan", "?days=-7"])
async def test_any_other_span_is_a_week(store: Store, client: Client, asked: str) -> None:
    await add_interaction(store, "i1")

    assert 'href="/board?days=7" aria-current="true"' in await page(client, f"/board{asked}")


async def test_what_needs_attention_is_named_with_the_way_there(
    store: Store, client: Client, told: Told
) -> None:
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    await add_interaction(store, "i1", at=hour_ago, status="failed")
    await add_escalation(store, "i1", opened_at=hour_ago)
    told.parts = (
        ComponentStatus("index", "failed", "the disk is full.", "Make room."),
        ComponentStatus("limits", "paused", "paused by anna."),
        ComponentStatus("model", "absent", "not configured."),
    )

    shown = await page(client)

    assert "1 question waits for a person, for 1 h." in shown
    assert "index is broken: the disk is full." in shown
    assert "Answering is paused by anna." in shown
    assert "1 answer could not be delivered in the last 7 days." in shown
    assert "not configured" not in shown


async def test_when_all_is_well_it_says_so(client: Client) -> None:
    assert "Nothing. No question waits for a person" in await page(client)


async def test_what_people_wrote_is_text(store: Store, client: Client, told: Told) -> None:
    told.parts = (ComponentStatus("limits", "paused", "paused by <script>alert(1)</script>."),)

    assert "<script>alert" not in await page(client)


@pytest.mark.parametrize(
    "path", ["/board", "/board/usage", "/board/usage.csv", "/board/parts", "/board/settings"]
)
async def test_a_stranger_sees_none_of_it_and_an_admin_all(
    store: Store, tmp_path: Path, path: str
) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", admin_token=TOKEN)  # noqa: S104 - not bound
    async with state_app(store, settings, Told()) as client:
        refused = await client.get(path, headers={"Accept": "*/*"})
        admitted = await client.get(path, headers=BEARER)

    assert (refused.status, admitted.status) == (401, 200)


@pytest.mark.parametrize("path", ["/board", "/board/usage", "/board/parts", "/board/settings"])
async def test_a_page_loads_nothing_from_elsewhere_and_has_nothing_inline(
    store: Store, client: Client, path: str
) -> None:
    await fill(store, datetime.now(UTC), days=7, a_day=5)

    shown = await page(client, path)

    assert not re.search(r'(?:src|href)="(?:https?:)?//', shown)
    assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|hx-on", shown)


async def test_ninety_busy_days_stay_a_small_page(store: Store, client: Client) -> None:
    await fill(store, datetime.now(UTC), days=90, a_day=8)

    assert len((await page(client, "/board?days=90")).encode()) < 110_000
