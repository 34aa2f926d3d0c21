"""Tests of conversations beside the chat, in a real Chromium, and of how light the page is."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page, expect

from tests.e2e.chromium import (
    DESKTOP,
    NEEDS_AXE,
    NEEDS_CHROMIUM,
    PHONE,
    Look,
    Visit,
    in_looks,
    visiting,
)
from tests.e2e.conftest import Served

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.xdist_group("served"),
    NEEDS_CHROMIUM,
]
FIRST, SECOND = "vpn says error 809, what now?", "hi there!"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
LOADED = "performance.getEntries().reduce((sum, e) => sum + (e.decodedBodySize || 0), 0)"
TRIES = 10
MOST_BYTES = 150_000


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, served: Served) -> AsyncIterator[Visit]:
    async with visiting(chromium, served.url, DESKTOP) as opened:
        yield opened


async def two_conversations(visit: Visit) -> None:
    await visit.ask(FIRST)
    await visit.page.get_by_role("button", name="New conversation").click()
    await expect(visit.page.locator("#welcome")).to_be_visible()
    await visit.ask(SECOND)
    await expect(visit.page.locator(".entry")).to_have_count(2)


async def resize(visit: Visit, size: tuple[int, int]) -> None:
    await visit.page.set_viewport_size({"width": size[0], "height": size[1]})


async def test_what_is_asked_is_listed_and_can_be_opened_again(visit: Visit) -> None:
    entries = visit.page.locator(".entry")
    await two_conversations(visit)
    await expect(entries.nth(0)).to_contain_text(SECOND)
    await expect(entries.nth(0).locator("a").first).to_have_attribute("aria-current", "true")

    await entries.nth(1).locator("a").first.click()

    await expect(visit.page.locator(".asked")).to_contain_text(FIRST)
    await expect(entries.nth(1).locator("a").first).to_have_attribute("aria-current", "true")
    await visit.picture("history")
    await visit.page.goto(visit.page.url.partition("/c/")[0])
    await expect(visit.page.locator(".asked")).to_contain_text(FIRST)


async def test_the_list_moves_nothing_beside_it_when_the_first_question_comes(
    visit: Visit,
) -> None:
    place = "document.querySelector('#ask').getBoundingClientRect().left"
    before = await visit.page.evaluate(place)
    await visit.ask(SECOND)
    await expect(visit.page.locator(".entry")).to_have_count(1)

    assert await visit.page.evaluate(place) == before


async def test_typing_searches_ones_questions_and_says_how_many_were_found(visit: Visit) -> None:
    await two_conversations(visit)
    find = visit.page.get_by_role("searchbox", name="Search your questions")
    told = visit.page.locator("#told")

    await find.fill("ERROR")
    await expect(visit.page.locator(".entry")).to_have_count(1)
    await expect(told).to_have_text("1 question found")
    await find.fill("nobody asked this")
    await expect(visit.page.locator("#conversations")).to_contain_text("all of these words")
    await expect(told).to_have_text("No questions found")
    await find.fill("")
    await expect(visit.page.locator(".entry")).to_have_count(2)
    await expect(told).to_be_empty()


async def test_a_question_that_was_found_is_opened_where_it_stands(visit: Visit) -> None:
    await two_conversations(visit)
    await visit.page.get_by_role("searchbox").fill("809")
    await expect(visit.page.locator(".entry")).to_have_count(1)
    await visit.page.locator(".entry a").click()

    await expect(visit.page.locator(".exchange:target")).to_contain_text(FIRST)


async def test_a_conversation_is_deleted_only_after_it_was_asked_for_twice(visit: Visit) -> None:
    await two_conversations(visit)
    delete = visit.page.get_by_role("link", name="Delete this conversation")
    dialog = visit.page.get_by_role("dialog", name="Delete this conversation?")

    await delete.focus()
    await visit.page.keyboard.press("Enter")
    await expect(dialog).to_be_visible()
    await visit.picture("delete")
    await visit.page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(delete).to_be_focused()
    await delete.click()
    await dialog.get_by_role("button", name="Keep it").click()
    await expect(visit.page.locator(".entry")).to_have_count(2)
    await delete.click()
    await dialog.get_by_role("button", name="Delete").click()

    await expect(visit.page.locator(".entry")).to_have_count(1)
    await expect(visit.page.locator("#welcome")).to_be_visible()


async def test_folding_the_list_away_is_remembered(visit: Visit) -> None:
    fold = visit.page.get_by_role("button", name="Your conversations")
    pane = visit.page.get_by_role("navigation", name="Conversations")
    await expect(fold).to_have_attribute("aria-expanded", "true")

    await fold.click()
    await expect(pane).to_be_hidden()
    await visit.page.reload()
    await expect(pane).to_be_hidden()
    await expect(fold).to_have_attribute("aria-expanded", "false")
    await fold.click()
    await expect(pane).to_be_visible()


async def test_on_a_phone_the_list_is_a_drawer_that_works_by_keyboard(visit: Visit) -> None:
    await two_conversations(visit)
    await resize(visit, PHONE)
    drawer = visit.page.get_by_role("button", name="Your conversations")
    pane = visit.page.get_by_role("navigation", name="Conversations")
    await expect(pane).to_be_hidden()

    await drawer.focus()
    await visit.page.keyboard.press("Enter")
    await expect(pane).to_be_visible()
    await visit.picture("drawer")
    await visit.page.keyboard.press("Tab")
    await expect(visit.page.get_by_role("button", name="Close the list")).to_be_focused()
    await visit.page.keyboard.press("Escape")
    await expect(pane).to_be_hidden()
    await expect(drawer).to_be_focused()


async def test_no_width_makes_the_page_scroll_sideways(visit: Visit) -> None:
    await two_conversations(visit)
    for width in (320, 360, 390, 540, 600, 735, 737, 1023, 1024, 1600):
        await resize(visit, (width, 740))
        assert await visit.sideways() <= 0, width


async def test_days_are_those_of_the_reader(chromium: Browser, served: Served) -> None:
    context = await chromium.new_context(timezone_id="Pacific/Kiritimati")
    page = await context.new_page()
    await page.goto(served.url)
    await page.reload()

    await expect(page.locator("#conversations")).to_have_attribute("data-east", "840")
    await context.close()


async def test_everything_works_without_scripts(chromium: Browser, served: Served) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(served.url)
    await asked_without_scripts(page, FIRST)
    await page.get_by_role("button", name="New conversation").click()
    await asked_without_scripts(page, SECOND)

    await page.locator(".entry a").nth(2).click()
    await expect(page.locator(".asked")).to_contain_text(FIRST)
    await page.get_by_role("searchbox").fill("809")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Your conversations")).to_be_visible()
    await page.locator(".entry a").first.click()
    await page.get_by_role("link", name="Delete this conversation").click()
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator(".entry")).to_have_count(1)
    await context.close()


async def asked_without_scripts(page: Page, question: str) -> None:
    await page.locator("#question").fill(question)
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".asked")).to_contain_text(question)
    await expect(page.locator(".working")).to_have_count(0)


@NEEDS_AXE
@in_looks()
async def test_the_list_and_every_explanation_shut_nobody_out(visit: Visit, look: Look) -> None:
    await two_conversations(visit)
    await visit.page.locator(".entry").nth(1).locator("a").first.click()
    await visit.look(look)
    await visit.page.locator(".why > summary").click()
    for fold in await visit.page.locator(".because summary").all():
        await fold.click()
    await visit.shuts_nobody_out(f"why-{look.name}")
    if look.size == PHONE:
        await visit.page.get_by_role("button", name="Your conversations").click()
    await visit.shuts_nobody_out(f"history-{look.name}")
    await visit.page.get_by_role("link", name="Delete this conversation").click()
    await visit.shuts_nobody_out(f"delete-{look.name}")


async def test_the_chat_is_painted_at_once_from_a_cold_cache_and_light(
    chromium: Browser, served: Served
) -> None:
    """Once in some tries it is nearly as quick as a page with nothing on it."""
    async with bare_page() as bare:
        for _ in range(TRIES):
            bare_ms, _ = await cold(chromium, bare)
            chat_ms, loaded = await cold(chromium, served.url)
            assert loaded <= MOST_BYTES
            if chat_ms <= 4 * bare_ms:
                return
    pytest.fail(f"first painted after {chat_ms:.0f} ms, a bare page after {bare_ms:.0f} ms")


@asynccontextmanager
async def bare_page() -> AsyncIterator[str]:
    """Serve one page without style or script."""
    app = web.Application()
    app.router.add_get("/", _bare)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def _bare(_: web.Request) -> web.Response:
    return web.Response(text="<!doctype html><title>Bare</title><p>Hello", content_type="text/html")


async def cold(browser: Browser, url: str) -> tuple[float, float]:
    """Open a page in a fresh profile; return the milliseconds to its first paint, and its bytes."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(url)
    while not await page.evaluate(f"({PAINTED}) > 0"):
        await page.wait_for_timeout(10)
    measured = float(await page.evaluate(PAINTED)), float(await page.evaluate(LOADED))
    await context.close()
    return measured


NOWHERE = "vpn says error 4711, what now?"
"""The sample has no such error: a code that is on no page is never answered."""


async def test_a_question_is_answered_and_its_source_opens_at_the_quote(visit: Visit) -> None:
    await visit.ask("vpn says error 809, what now?")

    answer = visit.page.locator(".answer").last
    await expect(answer).to_contain_text("From the wiki")
    await answer.locator("a.mark").first.click()
    quote = await answer.locator(".sources blockquote").first.inner_text()
    await visit.picture("answer")
    async with visit.page.context.expect_page() as opening:
        await answer.get_by_role("link", name="Open the page").first.click()
    opened = await opening.value
    await expect(opened.locator("#quote")).to_be_in_viewport()
    marked = await opened.locator("mark").all_inner_texts()
    assert re.sub(r"\W+", "", "".join(marked)) == re.sub(r"\W+", "", quote)
    await opened.screenshot()


async def test_what_is_not_in_the_wiki_is_offered_to_a_person_with_reasons(visit: Visit) -> None:
    await visit.ask(NOWHERE)

    answer = visit.page.locator(".answer").last
    await expect(answer).to_contain_text("I'm not sure")
    await answer.get_by_text("Why no answer").click()
    await expect(answer.locator(".steps")).to_contain_text("code from your question is in none")
    await visit.picture("no-answer")
    await answer.get_by_role("button", name="Ask a person").click()
    await expect(visit.page.locator(".answer").last).to_contain_text("For a person")


async def test_small_talk_has_no_sources(visit: Visit) -> None:
    await visit.ask("hi there!")

    answer = visit.page.locator(".answer").last
    await expect(answer.locator(".sources")).to_have_count(0)
    await expect(answer).not_to_contain_text("Did this help?")


async def test_a_starter_can_be_clicked_and_a_new_conversation_begun(visit: Visit) -> None:
    await visit.page.locator(".starters button").first.click()
    await expect(visit.page.locator(".asked")).to_have_count(1)
    await visit.page.get_by_role("button", name="New conversation").click()

    await expect(visit.page.get_by_role("heading", name="What can I look up")).to_be_visible()


async def test_a_pasted_log_and_hostile_text_stay_text(visit: Visit) -> None:
    log = "ERROR 0x80070005 " + "/very/long/path" * 30 + "\n<img src=x onerror=alert(1)>\n" * 20
    await visit.ask(log)
    await visit.picture("pasted-log")

    assert await visit.page.locator("#messages img").count() == 0
    assert await visit.sideways() <= 0
