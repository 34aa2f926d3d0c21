"""Tests of the page, CSV and API of insights, and of their definitions."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.learning.insights import DEFINITIONS, NONE
from bot.store.database import Store
from bot.web.board.insights import PATH
from tests.fakes.board_app import (
    CLOSED,
    OPEN,
    SURE,
    TOLD_ALL,
    BoardBrowser,
    TwoPageIndex,
    ask,
    board,
    source,
)
from tests.fakes.learning import collect_facts
from tests.fakes.record_rows import fill

DOCS = Path(__file__).parents[5] / "docs"


async def asked_of(desk: BoardBrowser, query: str = "") -> dict[str, Any]:
    response = await desk.client.get(f"/api/v2/insights{query}", headers={"X-Who": desk.who})
    assert response.status == 200, await response.text()
    found: dict[str, Any] = await response.json()
    return found


async def rows(desk: BoardBrowser, query: str) -> list[dict[str, str]]:
    text = await desk.get(f"{PATH}.csv{query}")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


async def test_page_csv_and_api_count_the_same(desk: BoardBrowser, store: Store) -> None:
    await fill(store, datetime.now(UTC), days=20, a_day=15)
    await collect_facts(store)

    told = await asked_of(desk)
    shown = await desk.get(PATH)

    assert f'<p class="value">{told["questions"]["asked"]}</p>' in shown
    by_day = await rows(desk, "?by=day")
    assert len(by_day) == len(told["days"]) == 30
    for grouping in ("channel", "space", "intent"):
        table = await rows(desk, f"?by={grouping}")
        assert {row[grouping]: int(row["asked"]) for row in table} == {
            each["key"]: each["asked"] for each in told[f"{grouping}s"]
        }
        assert sum(int(row["asked"]) for row in table) == sum(int(row["asked"]) for row in by_day)
    assert shown.count('role="img"') == 3
    assert len(told["experts"]) == 2


async def test_a_group_narrows_the_page_down(desk: BoardBrowser, store: Store) -> None:
    await fill(store, datetime.now(UTC), days=10, a_day=15)
    await collect_facts(store)
    spaces = {each["key"]: each["asked"] for each in (await asked_of(desk))["spaces"]}

    for key in ("IT", NONE):
        assert (await asked_of(desk, f"?space={key}"))["questions"]["asked"] == spaces[key]
        shown = await desk.get(f"{PATH}?space={key}")
        assert f'<p class="value">{spaces[key]}</p>' in shown
        assert f'name="space" value="{key}"' in shown


async def test_no_private_channel_is_named(desk: BoardBrowser, store: Store) -> None:
    await fill(store, datetime.now(UTC), days=10, a_day=15)
    await collect_facts(store)

    seen = [await desk.get(PATH), json.dumps(await asked_of(desk))]
    seen.append(await desk.get(f"{PATH}.csv?by=channel"))

    assert "D0DM" not in " ".join(seen)
    assert "web:anna" not in " ".join(seen)
    assert "Direct messages" in seen[0]
    assert (await asked_of(desk, "?channel=slack:D0DM"))["questions"]["asked"] == 0


async def test_no_word_of_a_question_is_shown(desk: BoardBrowser, store: Store) -> None:
    await ask(store, text="severance 809", response=SURE)
    await collect_facts(store)

    seen = [await desk.get(PATH), json.dumps(await asked_of(desk))]

    assert "severance" not in " ".join(seen)


OLD = datetime(2026, 1, 5, tzinfo=UTC)


async def test_old_pages_are_shown_to_their_readers_alone(tmp_path: Path, store: Store) -> None:
    held = [replace(each, updated_at=OLD, updated_by="Zoe Editor") for each in (OPEN, CLOSED)]
    cited = tuple(replace(source(each), space=each.space) for each in held)
    await ask(store, response=replace(TOLD_ALL, sources=cited))
    await ask(store, "m2", response=replace(SURE, sources=cited[:1]))
    await collect_facts(store)

    async with board(tmp_path, store, TwoPageIndex(held)) as desk:
        mine = await asked_of(desk)
        theirs = await asked_of(desk.of("ines"))
        shown = await desk.get(PATH)

    assert [(each["page"]["title"], each["answers"]) for each in mine["stale_pages"]] == [
        (OPEN.title, 2)
    ]
    assert [each["page"]["title"] for each in theirs["stale_pages"]] == [OPEN.title, CLOSED.title]
    assert CLOSED.title not in shown
    assert "Zoe Editor" in shown


async def test_a_page_that_was_changed_is_not_stale(tmp_path: Path, store: Store) -> None:
    fresh = replace(OPEN, updated_at=datetime.now(UTC) - timedelta(days=30))
    await ask(store, response=replace(SURE, sources=(replace(source(OPEN), space=OPEN.space),)))
    await collect_facts(store)

    async with board(tmp_path, store, TwoPageIndex([fresh])) as desk:
        assert (await asked_of(desk))["stale_pages"] == []
    async with board(tmp_path, store, TwoPageIndex([fresh], away=True)) as desk:
        assert (await asked_of(desk))["questions"]["asked"] == 1


async def test_any_range_of_days_is_counted(desk: BoardBrowser, store: Store) -> None:
    await fill(store, datetime.now(UTC), days=200, a_day=2)
    today = datetime.now(UTC).date()
    begin = today - timedelta(days=199)

    told = await asked_of(desk, f"?since={begin}&until={today}")
    shown = await desk.get(f"{PATH}?since={begin}&until={today}")

    assert len(told["days"]) == 200
    assert "Questions by week" in shown
    first = await asked_of(desk, f"?since={begin}&until={begin}")
    assert [each["asked"] for each in first["days"]] == [told["days"][0]["asked"]]


@pytest.mark.parametrize("query", ["since=2026-13-01", "since=2026-11-10&until=2026-11-01"])
async def test_wrong_days_are_told_and_others_counted(desk: BoardBrowser, query: str) -> None:
    assert 'class="refusal"' in await desk.get(f"{PATH}?{query}")
    response = await desk.client.get(f"/api/v2/insights?{query}", headers={"X-Who": desk.who})
    assert response.status == 422


@pytest.mark.parametrize("path", [PATH, f"{PATH}.csv"])
async def test_askers_see_none(desk: BoardBrowser, path: str) -> None:
    await desk.of("mika").get(path, 403)


async def test_each_figure_has_its_definition_beside_it(desk: BoardBrowser, store: Store) -> None:
    await fill(store, datetime.now(UTC), days=10, a_day=15)

    shown = re.sub(r"&#39;", "'", await desk.get(PATH))

    assert [name for name, text in DEFINITIONS.items() if text not in shown] == []


def test_each_definition_is_in_the_documentation() -> None:
    page = (DOCS / "insights.md").read_text()

    assert [name for name, text in DEFINITIONS.items() if text not in page] == []
