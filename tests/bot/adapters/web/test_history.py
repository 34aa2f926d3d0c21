"""A person's own conversations over real HTTP: listed, opened, searched, deleted."""

from __future__ import annotations

import re

import pytest

from bot.domain.messages import InteractionId
from bot.store.database import Store
from bot.web.chat.history import PAGE_SIZE
from tests.bot.adapters.web.stand_in import QUOTE, Browser


async def ask_anew(browser: Browser, question: str) -> str:
    """Ask in a new conversation; return its id."""
    await browser.post("/conversations", status=303)
    path, _ = await browser.ask(question)
    return path.split("/")[2]


def listed(page: str) -> list[str]:
    return re.findall(r'<span class="name">([^<]*)</span> <time', page)


async def test_conversations_are_listed_newest_first_and_the_open_one_is_marked(
    browser: Browser,
) -> None:
    first = await ask_anew(browser, "error 809")
    second = await ask_anew(browser, "pet insurance?")

    page = await browser.get("/")

    assert listed(page) == ["pet insurance?", "error 809"]
    assert f'<a href="/c/{second}" aria-current="true">' in page
    assert f'<a href="/c/{first}">' in page
    assert "<h3>Today</h3>" in page


async def test_a_conversation_that_was_opened_stays_open(browser: Browser) -> None:
    first = await ask_anew(browser, "error 809")
    await ask_anew(browser, "pet insurance?")

    opened = await browser.get(f"/c/{first}")

    assert QUOTE in opened
    assert "No sure answer" not in opened
    assert QUOTE in await browser.get("/")


@pytest.mark.parametrize("path", ["/c/nonsense", "/c/6f1c1c1e-0000-4000-8000-000000000000"])
async def test_what_is_no_conversation_of_ones_own_opens_an_empty_one(
    browser: Browser, path: str
) -> None:
    assert "What can I look up for you?" in await browser.get(path)


async def test_another_visitor_sees_finds_and_deletes_nothing(
    browser: Browser, store: Store
) -> None:
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
    assert "No question of yours has all of these words." in nothing


async def test_a_piece_of_the_page_is_sent_to_the_page(browser: Browser) -> None:
    await ask_anew(browser, "error 809")

    response = await browser.client.get("/history?q=809", headers={"HX-Request": "true"})
    piece = await response.text()

    assert "<html" not in piece
    assert listed(piece) == ["error 809"]
    assert 'hx-swap-oob="innerHTML">1 question found' in piece


async def test_deleting_asks_first_and_then_withdraws_every_question(
    browser: Browser, store: Store
) -> None:
    kept = await ask_anew(browser, "which laptop?")
    conversation = await ask_anew(browser, "error 809")
    await browser.post(f"/chat/{conversation}", question="error 809 again")

    page = await browser.get(f"/conversations/{conversation}/delete")
    assert "Its 2 questions and their answers are removed" in page
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
    assert "There is nothing to delete" in again


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
