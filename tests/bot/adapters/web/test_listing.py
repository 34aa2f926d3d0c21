"""Lines of the list, and where it goes on."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.domain.messages import InteractionId
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.web.chat.history import PAGE_SIZE, HistoryPage, HistoryQuery, history_page
from tests.builders import NOON


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
