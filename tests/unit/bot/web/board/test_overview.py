"""Tests of the board's figures, overview and usage pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.health import ComponentStatus
from bot.domain.record_reports import (
    NEEDED_THE_WIKI,
    Day,
    Figures,
    Percentiles,
    QuestionKind,
    Tally,
    days_in,
    earlier_span,
    last_days,
)
from bot.domain.texts.dates import duration
from bot.store.database import Store
from bot.web.board.day_charts import OUTCOMES
from bot.web.board.figures import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Chart,
    Series,
    compared,
    percent,
    scale,
    stacked,
    usd,
)
from bot.web.board.overview import SHORTENED_NOTE, ComparedSpan, span_context
from tests.fakes.board_app import BoardState, Client, state_pages
from tests.fakes.builders import NOON
from tests.fakes.http_server import BEARER, TOKEN, settings_for
from tests.fakes.record_rows import add_escalation, add_interaction, add_usage, fill


def plain(told: str) -> str:
    """A figure and its unit are kept together by a space that does not break."""
    return told.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0.0 s"),
        (0.84, "0.8 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (17 * 60, "17 min"),
        (3599, "1 h"),
        (7500, "2 h 5 min"),
        (12 * 3600 + 1700, "12 h"),
        (86_399, "24 h"),
        (48 * 3600, "2 days"),
        (3 * 86_400 + 7200, "3 days"),
    ],
)
def test_a_duration_is_told_in_two_units_at_most(seconds: float, told: str) -> None:
    assert plain(duration(seconds)) == told


@pytest.mark.parametrize(
    ("now", "then", "told"),
    [
        (12, 12, "the same"),
        (12, 3, "9 more"),
        (150, 100, "50 more (+50 %)"),
        (80, 100, "20 fewer (−20 %)"),
        (0, 0, "the same"),
    ],
)
def test_a_change_is_in_percent_where_it_matters(now: float, then: float, told: str) -> None:
    assert plain(compared(now, then)) == told


@pytest.mark.parametrize(
    ("amount", "told"), [(0, "0.00 USD"), (0.0012, "0.0012 USD"), (1234.5, "1,234.50 USD")]
)
def test_money_names_its_currency(amount: float, told: str) -> None:
    assert plain(usd(amount)) == told


def test_a_share_that_is_not_known_is_a_dash() -> None:
    assert (percent(None), plain(percent(0.716))) == ("–", "72 %")


FIRST = date(2026, 11, 16)


def drawn(*values: tuple[float, ...]) -> Chart:
    days = [FIRST + timedelta(days=n) for n in range(len(values[0]))]
    series = [Series(f"s{n}", f"tone-{n}", each) for n, each in enumerate(values)]
    return stacked("Questions", "Some.", days, series)


def bars(path: str) -> list[tuple[float, float, float, float]]:
    """Return left, right, top and bottom of each bar."""
    found = re.findall(r"M([\d.]+) ([\d.]+)v(-[\d.]+)h([\d.]+)v([\d.]+)z", path)
    numbers = [tuple(map(float, each)) for each in found]
    return [(x, x + width, low + up, low) for x, low, up, width, _ in numbers]


@given(st.floats(0, 1e12, allow_subnormal=False))
def test_a_scale_begins_at_nothing_reaches_the_highest_and_is_short(highest: float) -> None:
    steps = scale(highest)

    assert steps[0] == 0
    assert steps[-1] >= highest * 0.998
    assert 2 <= len(steps) <= 5
    assert steps == tuple(sorted(set(steps)))


@pytest.mark.parametrize(
    ("highest", "steps"),
    [(0, (0, 1)), (1, (0, 1)), (3, (0, 1, 2, 3)), (47, (0, 20, 40, 60)), (0.5, (0, 0.2, 0.4, 0.6))],
)
def test_steps_are_round(highest: float, steps: tuple[float, ...]) -> None:
    assert scale(highest) == pytest.approx(steps)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=90))
def test_every_bar_is_inside_and_stands_on_the_one_below(values: list[tuple[int, int]]) -> None:
    chart = drawn(tuple(a for a, _ in values), tuple(b for _, b in values))

    for shape in chart.shapes:
        for left, right, top, bottom in bars(shape.path):
            assert left >= LEFT - 0.1
            assert right <= RIGHT + 0.1
            assert TOP - 0.2 <= top <= bottom <= BOTTOM + 0.2


def test_series_stand_on_each_other_in_their_order() -> None:
    chart = drawn((3.0, 0.0), (1.0, 2.0))

    ((*_, top, bottom),) = bars(chart.shapes[0].path)
    above, alone = bars(chart.shapes[1].path)
    assert bottom == alone[3] == BOTTOM
    assert above[3] == pytest.approx(top, abs=0.1)


def test_a_day_says_its_figures_and_one_without_says_so() -> None:
    chart = drawn((3.0, 0.0), (1.0, 0.0))

    assert [spot.text for spot in chart.spots] == ["Mon 16 Nov: s0 3, s1 1", "Tue 17 Nov: nothing"]
    assert chart.rows == (("2026-11-16", "3", "1"), ("2026-11-17", "0", "0"))


@pytest.mark.parametrize(("days", "most"), [(7, 7), (30, 4), (90, 4)])
def test_the_last_day_is_named_and_names_do_not_crowd(days: int, most: int) -> None:
    chart = drawn((1.0,) * days)

    last = FIRST + timedelta(days=days - 1)
    assert str(last.day) in chart.names[-1].text
    assert len(chart.names) <= most


WEEK = last_days(NOON, 7)


def figures(kinds: Mapping[QuestionKind, int]) -> Figures:
    """All of a week's questions came on its last day."""
    *quiet, last = days_in(WEEK)
    needed = sum(kinds.get(kind, 0) for kind in NEEDED_THE_WIKI)
    tally = Tally(kinds, needed=needed, deflected=kinds.get("answered", 0))
    return Figures(WEEK, (*map(Day, quiet), Day(last, tally)))


def words(now: Figures, then: Figures) -> str:
    earlier = replace(then, span=earlier_span(WEEK, 7))
    return str(span_context(ComparedSpan(7, now, earlier, (), ()))["words"]).replace(
        "\N{NO-BREAK SPACE}", " "
    )


@pytest.mark.parametrize(
    ("asked", "earlier", "said"),
    [
        (0, 0, "No questions in the last 7 days; 0 in the 7 days before."),
        (3, 0, "3 questions in the last 7 days, none in the 7 days before"),
        (3, 3, "3 questions in the last 7 days, the same as in the 7 days before"),
        (1, 2, "1 question in the last 7 days, 1 fewer"),
    ],
)
def test_a_span_is_told_against_the_one_before(asked: int, earlier: int, said: str) -> None:
    now, then = figures({"generic": asked}), figures({"generic": earlier})

    assert said in words(now, then)


def test_a_share_of_nothing_before_is_told_too() -> None:
    now, then = figures({"answered": 3, "escalated": 1}), figures({"escalated": 2})

    assert "75 % of those that needed the wiki needed no person (before: 0 %)" in words(now, then)


def test_a_share_that_was_not_before_is_not_compared() -> None:
    now, then = figures({"answered": 1}), figures({"generic": 2})

    assert "100 % of those that needed the wiki needed no person." in words(now, then)


def test_times_are_told_only_where_something_was_timed() -> None:
    now = figures({"answered": 1})

    assert "median response" not in words(now, now)
    timed = replace(now, answering=Percentiles(1, 1.2, 3.0))
    assert "median response time was 1.2 s" in words(timed, now)


def test_what_was_not_counted_is_said_of_either_span() -> None:
    whole = figures({"answered": 1})
    part = replace(whole, shortened=True)

    for now, then, said in (
        (whole, whole, ""),
        (part, whole, SHORTENED_NOTE),
        (whole, part, SHORTENED_NOTE),
    ):
        assert span_context(ComparedSpan(7, now, then, (), ()))["shortened"] == said


def test_what_was_left_alone_is_told_beside_the_questions() -> None:
    quiet, busy = figures({"answered": 1}), figures({"answered": 1, "silent": 12})

    assert "Ignored" not in words(quiet, quiet)
    said = words(busy, quiet)
    assert "1 question in the last 7 days, the same as" in said
    assert said.endswith(
        "12 more messages were left alone because they were not meant for the bot."
    )


def test_every_kind_of_outcome_has_a_name() -> None:
    assert set(OUTCOMES) == set(get_args(QuestionKind)) - {"silent"}


@pytest.fixture
def told() -> BoardState:
    return BoardState()


@pytest.fixture
async def client(store: Store, tmp_path: Path, told: BoardState) -> AsyncIterator[Client]:
    async with state_pages(store, settings_for(tmp_path), told) as opened:
        yield opened


async def page(client: Client, path: str = "/board") -> str:
    response = await client.get(path)
    assert response.status == 200
    return (await response.text()).replace("\xa0", " ")


async def test_an_empty_record_says_what_will_be_here_and_how_to_begin(client: Client) -> None:
    shown = await page(client)

    assert "No questions yet" in shown
    assert '<a class="main" href="/">Ask the first question</a>' in shown
    assert "<svg" not in shown.partition("</header>")[2]


async def test_a_busy_week_is_words_and_figures(store: Store, client: Client) -> None:
    record = await fill(store, datetime.now(UTC), days=14, a_day=20)

    shown = await page(client)

    asked = int(re.search(r"([\d,]+) questions in the last 7 days", shown)[1])  # type: ignore[index]  # it is there
    assert 0 < asked < sum(len(rows) for rows in record.rows.values())
    assert f'<p class="value">{asked}</p>' in shown


async def test_a_span_without_questions_says_so(store: Store, client: Client) -> None:
    await add_interaction(store, "old", at=datetime.now(UTC) - timedelta(days=10))

    shown = await page(client)

    assert "No questions in the last 7 days; 1 in the 7 days before." in shown
    assert "1 question in the last 30 days" in await page(client, "/board?days=30")


@pytest.mark.parametrize("asked", ["", "?days=8", "?days=nan", "?days=-7"])
async def test_any_other_span_is_a_week(store: Store, client: Client, asked: str) -> None:
    await add_interaction(store, "i1")

    assert 'href="/board?days=7" aria-current="true"' in await page(client, f"/board{asked}")


async def test_what_needs_attention_is_named_with_the_way_there(
    store: Store, client: Client, told: BoardState
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

    assert "1 question has been waiting for a person for 1 h." in shown
    assert "index is not working: the disk is full." in shown
    assert "Answering is paused by anna." in shown
    assert "1 answer could not be delivered in the last 7 days." in shown
    assert "not configured" not in shown


@pytest.mark.parametrize(("minutes", "urgent"), [(29, False), (31, True)])
async def test_a_question_is_urgent_once_experts_are_reminded_of_it(
    store: Store, client: Client, minutes: int, *, urgent: bool
) -> None:
    await wait(store, minutes)

    shown = await page(client)

    assert f"1 question has been waiting for a person for {minutes} min." in shown
    assert ('class="urgent"' in shown) is urgent


async def test_without_reminders_no_waiting_question_is_urgent(
    store: Store, tmp_path: Path, told: BoardState
) -> None:
    await wait(store, minutes=600)
    settings = settings_for(tmp_path, escalation_ping_minutes=0)

    async with state_pages(store, settings, told) as never_reminds:
        shown = await page(never_reminds)

    assert "1 question has been waiting for a person for 10 h." in shown
    assert 'class="urgent"' not in shown


async def wait(store: Store, minutes: int) -> None:
    """Have a question wait for a person since some time."""
    since = datetime.now(UTC) - timedelta(minutes=minutes)
    await add_interaction(store, "i1", at=since)
    await add_escalation(store, "i1", opened_at=since)


async def test_when_all_is_well_it_says_so(client: Client) -> None:
    assert "Nothing. No questions are waiting" in await page(client)


async def test_what_people_wrote_is_text(store: Store, client: Client, told: BoardState) -> None:
    told.parts = (ComponentStatus("limits", "paused", "paused by <script>alert(1)</script>."),)

    assert "<script>alert" not in await page(client)


@pytest.mark.parametrize(
    "path", ["/board", "/board/usage", "/board/usage.csv", "/board/parts", "/board/settings"]
)
async def test_strangers_see_none_and_an_admin_all(store: Store, tmp_path: Path, path: str) -> None:
    settings = settings_for(tmp_path, host="0.0.0.0", admin_token=TOKEN)  # noqa: S104 - not bound
    async with state_pages(store, settings, BoardState()) as client:
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


@pytest.fixture
async def usage_client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    async with state_pages(store, settings_for(tmp_path), BoardState()) as opened:
        yield opened


async def usage_page(usage_client: Client, query: str = "") -> str:
    response = await usage_client.get(f"/board/usage{query}")
    assert response.status == 200
    return (await response.text()).replace("\xa0", " ")


async def spend(store: Store) -> None:
    now = datetime.now(UTC) - timedelta(seconds=5)
    await add_usage(store, 1, at=now)
    await add_usage(store, 2, at=now, person="ben", model="=HYPERLINK(1)", cost_usd=None)
    await add_usage(store, 3, at=now, person="", cost_usd=1.5)
    await add_usage(store, 4, at=now, tenant="other", cost_usd=99)


async def test_sums_and_what_has_no_price_are_told(store: Store, usage_client: Client) -> None:
    await spend(store)

    shown = await usage_page(usage_client)

    assert "3 calls, 330 tokens, 1.75 USD. 1 call has no known price" in shown
    assert "99" not in shown.partition("<table")[2].partition("</table>")[0]


async def test_without_a_price_the_cost_is_not_none(store: Store, usage_client: Client) -> None:
    await add_usage(store, 1, at=datetime.now(UTC) - timedelta(seconds=5), cost_usd=None)

    shown = await usage_page(usage_client, "?by=model")

    assert "None of these calls has a known price" in shown
    assert "<td>unknown</td>" in shown


@pytest.mark.parametrize(
    ("by", "first"),
    [("model", "small"), ("channel", "web:anna"), ("person", "anna"), ("else", "20")],
)
async def test_sums_are_by_choice(store: Store, usage_client: Client, by: str, first: str) -> None:
    await spend(store)

    table = (await usage_page(usage_client, f"?by={by}")).rpartition("<tbody>")[2]

    assert f'<th scope="row">{first}' in table


async def test_a_person_that_is_forgotten_has_no_name(store: Store, usage_client: Client) -> None:
    await spend(store)

    assert "(forgotten)" in await usage_page(usage_client, "?by=person")


async def test_the_csv_has_every_row_and_no_formula(store: Store, usage_client: Client) -> None:
    await spend(store)

    response = await usage_client.get("/board/usage.csv?days=30&by=model")

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


async def test_many_rows_are_cut_and_all_in_the_csv(store: Store, usage_client: Client) -> None:
    at = datetime.now(UTC) - timedelta(seconds=5)
    for number in range(103):
        await add_usage(store, number, at=at, person=f"person-{number}")

    assert "3 more are in the CSV." in await usage_page(usage_client, "?by=person")


async def test_usage_without_a_call_says_what_will_be_here(usage_client: Client) -> None:
    shown = await usage_page(usage_client)

    assert "No model calls in the last 7 days." in shown
    assert "Once a model writes answers" in shown
