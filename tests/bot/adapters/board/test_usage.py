from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.store.database import Store, open_store, sqlite_url
from tests.bot.adapters.board.state_app import Client, Told, state_app
from tests.bot.server import settings_for
from tests.bot.store.filled import add_usage


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url(tmp_path))
    yield opened
    await opened.close()


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    async with state_app(store, settings_for(tmp_path), Told()) as opened:
        yield opened


async def page(client: Client, query: str = "") -> str:
    response = await client.get(f"/board/usage{query}")
    assert response.status == 200
    return (await response.text()).replace("\xa0", " ")


async def spend(store: Store) -> None:
    now = datetime.now(UTC) - timedelta(seconds=5)
    await add_usage(store, 1, at=now)
    await add_usage(store, 2, at=now, person="ben", model="=HYPERLINK(1)", cost_usd=None)
    await add_usage(store, 3, at=now, person="", cost_usd=1.5)
    await add_usage(store, 4, at=now, tenant="other", cost_usd=99)


async def test_sums_are_told_and_what_has_no_price_is_said_plainly(
    store: Store, client: Client
) -> None:
    await spend(store)

    shown = await page(client)

    assert "3 calls, 330 tokens, 1.75 USD. 1 call has no known price" in shown
    assert "99" not in shown.partition("<table")[2].partition("</table>")[0]


async def test_without_any_price_the_cost_is_not_told_as_nothing(
    store: Store, client: Client
) -> None:
    await add_usage(store, 1, at=datetime.now(UTC) - timedelta(seconds=5), cost_usd=None)

    shown = await page(client, "?by=model")

    assert "The price of none of them is known" in shown
    assert "<td>not known</td>" in shown


@pytest.mark.parametrize(
    ("by", "first"),
    [("model", "small"), ("channel", "web:anna"), ("person", "anna"), ("else", "20")],
)
async def test_sums_are_by_what_is_chosen(
    store: Store, client: Client, by: str, first: str
) -> None:
    await spend(store)

    table = (await page(client, f"?by={by}")).rpartition("<tbody>")[2]

    assert f'<th scope="row">{first}' in table


async def test_a_person_that_is_forgotten_has_no_name(store: Store, client: Client) -> None:
    await spend(store)

    assert "(person forgotten)" in await page(client, "?by=person")


async def test_the_csv_has_every_row_and_no_formula(store: Store, client: Client) -> None:
    await spend(store)

    response = await client.get("/board/usage.csv?days=30&by=model")

    assert response.content_type == "text/csv"
    assert (
        'filename="frontdesk-usage-by-model-30-days-to-' in response.headers["Content-Disposition"]
    )
    rows = list(csv.DictReader(io.StringIO((await response.read()).decode("utf-8-sig"))))
    assert [(row["model"], row["calls"], row["unpriced_calls"]) for row in rows] == [
        ("small", "2", "0"),
        ("'=HYPERLINK(1)", "1", "1"),
    ]
    assert rows[0]["cost_usd"] == "1.750000"


async def test_many_rows_are_cut_and_the_rest_is_in_the_csv(store: Store, client: Client) -> None:
    at = datetime.now(UTC) - timedelta(seconds=5)
    for number in range(103):
        await add_usage(store, number, at=at, person=f"person-{number}")

    assert "3 more are in the CSV." in await page(client, "?by=person")


async def test_without_a_call_it_says_what_will_be_here(client: Client) -> None:
    shown = await page(client)

    assert "No model was asked in the last 7 days." in shown
    assert "Once a model composes answers" in shown
