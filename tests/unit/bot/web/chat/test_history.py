"""Tests of a person's own conversations: list, days, search and deletion."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.messages import InteractionId
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.store.database import Store
from bot.web.chat.history import (
    PAGE_SIZE,
    HistoryEntry,
    HistoryPage,
    HistoryQuery,
    browser_timezone,
    by_day,
    day_of,
    history_page,
)
from tests.fakes.builders import NOON
from tests.fakes.chat_app import QUOTE, Browser


def entry(at: datetime) -> HistoryEntry:
    return HistoryEntry("/c/1", "vpn?", at)


@pytest.mark.parametrize(
    ("ago", "name"),
    [
        (timedelta(), "Today"),
        (timedelta(hours=12), "Today"),
        (timedelta(hours=12, seconds=1), "Yesterday"),
        (timedelta(hours=36), "Yesterday"),
        (timedelta(hours=36, seconds=1), "Earlier"),
        (timedelta(days=-1), "Today"),
    ],
)
def test_a_day_is_one_of_the_calendar_not_of_hours(ago: timedelta, name: str) -> None:
    assert day_of(NOON - ago, NOON) == name


def test_midnight_is_where_the_reader_is() -> None:
    east = NOON.astimezone(browser_timezone("720"))
    late = NOON - timedelta(minutes=1)

    assert day_of(late, NOON) == "Today"
    assert day_of(late, east) == "Yesterday"


@pytest.mark.parametrize("told", [None, "", "x", "99999", "-841", "1e3", "٣"])
def test_a_zone_that_is_none_is_that_of_utc_or_within_the_earth(told: str | None) -> None:
    assert abs(browser_timezone(told).utcoffset(None)) <= timedelta(hours=14)


def test_recent_entries_tell_the_time_and_earlier_ones_the_date() -> None:
    moments = [NOON, NOON - timedelta(days=1), NOON - timedelta(days=9), NOON - timedelta(days=400)]

    days = by_day([entry(each) for each in moments], NOON)

    assert [day.name for day in days] == ["Today", "Yesterday", "Earlier"]
    told = [each.when for day in days for each in day.entries]
    assert told == ["12:00", "12:00", "13 Nov", "18 Oct 2025"]


def test_a_day_that_goes_on_from_the_page_before_does_not_begin_again() -> None:
    days = by_day([entry(NOON), entry(NOON - timedelta(days=1))], NOON, after=NOON)

    assert [(day.name, day.begins) for day in days] == [("Today", False), ("Yesterday", True)]


@given(st.lists(st.integers(0, 10**6), max_size=30), st.integers(-840, 840))
def test_every_entry_is_listed_once_in_order_no_day_twice(minutes: list[int], east: int) -> None:
    now = datetime(2026, 11, 22, 3, tzinfo=UTC).astimezone(browser_timezone(str(east)))
    moments = sorted((now - timedelta(minutes=each) for each in minutes), reverse=True)

    days = by_day([entry(each) for each in moments], now)

    assert [each.at for day in days for each in day.entries] == moments
    assert len({day.name for day in days}) == len(days)


def threads(count: int, question: str = "vpn?") -> list[ThreadSummary]:
    return [
        ThreadSummary(
            f"t{number}", question, NOON - timedelta(minutes=number), InteractionId(f"i{number}")
        )
        for number in range(count)
    ]


def questions(count: int, question: str = "vpn?") -> list[FoundQuestion]:
    return [FoundQuestion(InteractionId(f"i{n}"), f"t{n}", question, NOON) for n in range(count)]


def title(listing: HistoryPage) -> str:
    return listing.days[0].entries[0].title


def test_the_open_conversation_is_marked_and_can_be_deleted() -> None:
    (day,) = history_page(threads(2), HistoryQuery(open="t1"), NOON).days

    assert [(each.here, each.delete) for each in day.entries] == [
        (False, ""),
        (True, "/conversations/t1/delete"),
    ]


def test_a_page_that_is_not_the_last_leads_to_the_next() -> None:
    listing = history_page(threads(PAGE_SIZE + 1), HistoryQuery(open="t1"), NOON)

    assert sum(len(day.entries) for day in listing.days) == PAGE_SIZE
    query = parse_qs(urlsplit(listing.more).query)
    assert query["after"] == [f"t{PAGE_SIZE - 1}"]
    assert query["open"] == ["t1"]


def test_the_last_page_leads_nowhere() -> None:
    assert history_page(threads(PAGE_SIZE), HistoryQuery(), NOON).more == ""
    assert history_page([], HistoryQuery(), NOON).more == ""


def test_a_long_first_question_is_shortened_and_on_one_line() -> None:
    listing = history_page(threads(1, "line\n" * 100), HistoryQuery(), NOON)

    assert len(title(listing)) <= 90
    assert "\n" not in title(listing)


def test_a_question_without_a_word_still_has_a_line_to_click() -> None:
    assert title(history_page(threads(1, "\n"), HistoryQuery(), NOON)) == "\u2026"


def test_what_was_found_opens_at_the_question_and_shows_the_word() -> None:
    asked = "padding " * 30 + "and then the PRINTER burns " + "padding " * 30
    listing = history_page(questions(1, asked), HistoryQuery(query="printer burns"), NOON)

    assert "PRINTER burns" in title(listing)
    assert len(title(listing)) <= 90
    assert listing.days[0].entries[0].href == "/c/t0#x-i0"


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "No questions found"),
        (1, "1 question found"),
        (2, "2 questions found"),
        (PAGE_SIZE + 1, f"More than {PAGE_SIZE} questions found, newest first"),
    ],
)
def test_a_search_says_how_much_it_found(count: int, told: str) -> None:
    assert history_page(questions(count), HistoryQuery(query="vpn"), NOON).told == told


def test_a_list_and_a_further_page_say_nothing_of_it() -> None:
    assert history_page(threads(3), HistoryQuery(), NOON).told == ""
    assert history_page(questions(3), HistoryQuery(query="vpn", after="i9"), NOON).told == ""


async def ask_anew(browser: Browser, question: str) -> str:
    """Ask in a new conversation; return its id."""
    await browser.post("/conversations", status=303)
    path, _ = await browser.ask(question)
    return path.split("/")[2]


def listed(page: str) -> list[str]:
    return re.findall(r'<span class="name">([^<]*)</span> <time', page)


async def test_conversations_are_listed_newest_first_the_open_marked(
    browser: Browser,
) -> None:
    asked = datetime.now(UTC)
    first = await ask_anew(browser, "error 809")
    second = await ask_anew(browser, "pet insurance?")

    page = await browser.get("/")

    assert listed(page) == ["pet insurance?", "error 809"]
    assert f'<a href="/c/{second}" aria-current="true">' in page
    assert f'<a href="/c/{first}">' in page
    assert f"<h3>{day_of(asked, datetime.now(UTC))}</h3>" in page


async def test_a_conversation_that_was_opened_stays_open(browser: Browser) -> None:
    first = await ask_anew(browser, "error 809")
    await ask_anew(browser, "pet insurance?")

    opened = await browser.get(f"/c/{first}")

    assert QUOTE in opened
    assert "I'm not sure" not in opened
    assert QUOTE in await browser.get("/")


@pytest.mark.parametrize("path", ["/c/nonsense", "/c/6f1c1c1e-0000-4000-8000-000000000000"])
async def test_no_conversation_of_ones_own_is_an_empty_one(browser: Browser, path: str) -> None:
    assert "What can I look up for you?" in await browser.get(path)


async def test_another_visitor_finds_and_deletes_nothing(browser: Browser, store: Store) -> None:
    conversation = await ask_anew(browser, "error 809")
    (asked,) = await store.interactions.answered("default", 10)
    browser.client.session.cookie_jar.clear()

    assert listed(await browser.get("/")) == []
    assert "What can I look up for you?" in await browser.get(f"/c/{conversation}")
    assert listed(await browser.get("/history?q=809")) == []
    await browser.post(f"/conversations/{conversation}/delete", status=303)
    kept = await store.interactions.get(InteractionId(asked.id))
    assert kept is not None
    assert kept.message.text == "error 809"


async def test_the_list_has_pages(browser: Browser, store: Store) -> None:
    for number in range(PAGE_SIZE + 2):
        await browser.post("/conversations", status=303)
        conversation = await browser.conversation()
        await browser.post(f"/chat/{conversation}", question=f"error 809, {number}")

    page = await browser.get("/history")
    (more,) = re.findall(r'href="(/history\?[^"]+)"', page)
    rest = await browser.get(more.replace("&amp;", "&"))

    assert len(listed(page)) == PAGE_SIZE
    assert listed(rest) == ["error 809, 1", "error 809, 0"]
    assert "<h3>" not in rest


async def test_a_search_finds_ones_own_questions_and_says_how_many(browser: Browser) -> None:
    await ask_anew(browser, "error 809")
    await ask_anew(browser, "which laptop?")

    found = await browser.get("/history?q=LAPTOP")
    nothing = await browser.get("/history?q=laptop+809")

    assert listed(found) == ["which laptop?"]
    assert "1 question found" in found
    assert listed(nothing) == []
    assert "No matching questions." in nothing


async def test_a_piece_of_the_page_is_sent_to_the_page(browser: Browser) -> None:
    await ask_anew(browser, "error 809")

    response = await browser.client.get("/history?q=809", headers={"HX-Request": "true"})
    piece = await response.text()

    assert "<html" not in piece
    assert listed(piece) == ["error 809"]
    assert 'hx-swap-oob="innerHTML">1 question found' in piece


async def test_deleting_asks_then_withdraws_all_questions(browser: Browser, store: Store) -> None:
    kept = await ask_anew(browser, "which laptop?")
    conversation = await ask_anew(browser, "error 809")
    await browser.post(f"/chat/{conversation}", question="error 809 again")

    page = await browser.get(f"/conversations/{conversation}/delete")
    assert "Its 2 questions and their answers will be removed" in page
    assert listed(await browser.get("/")) == ["error 809", "which laptop?"]
    await browser.post(f"/conversations/{conversation}/delete", status=303)

    assert listed(await browser.get(f"/c/{kept}")) == ["which laptop?"]
    assert QUOTE not in await browser.get(f"/c/{conversation}")
    assert [each.message.text for each in await store.interactions.answered("default", 10)] == [
        "which laptop?"
    ]


async def test_after_deleting_a_new_conversation_is_open(browser: Browser) -> None:
    conversation = await ask_anew(browser, "error 809")
    await browser.post(f"/conversations/{conversation}/delete", status=303)

    assert await browser.conversation() != conversation
    again = await browser.get(f"/conversations/{conversation}/delete")
    assert "Nothing to delete" in again


async def test_a_form_from_elsewhere_deletes_nothing(browser: Browser) -> None:
    conversation = await ask_anew(browser, "error 809")

    forged = await browser.client.post(
        f"/conversations/{conversation}/delete", headers={"Origin": "https://evil.example"}
    )

    assert forged.status == 403
    assert QUOTE in await browser.get("/")


async def test_a_question_in_the_list_is_text(browser: Browser) -> None:
    await ask_anew(browser, "<script>alert(1)</script>")

    assert "<script>alert" not in await browser.get("/history?q=alert")


@pytest.mark.parametrize(
    "query", ["after=x", "seen=x", "after=&seen=2026-01-01", "q=%00", "q=%25&after=%ff", "open=%ff"]
)
async def test_a_made_up_address_is_no_trouble(browser: Browser, query: str) -> None:
    await ask_anew(browser, "error 809")

    await browser.get(f"/history?{query}")
