"""Tests of conversations beside the chat, in a real Chromium, and of how light the page is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
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
LOADED = "performance.getEntries().reduce((sum, e) => sum + (e.decodedBodySize || 0), 0)"
HELD_UP = (
    "performance.getEntriesByType('resource')"
    ".filter(each => each.renderBlockingStatus === 'blocking').map(each => each.name)"
)
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
    await expect(visit.page.locator("#conversations")).to_contain_text("No matching questions")
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


async def test_the_chat_is_light_and_waits_for_style_sheets_only(
    chromium: Browser, served: Served
) -> None:
    """What else it loads does not hold up the first paint (tests.bench.bench_first_paint)."""
    context = await chromium.new_context()
    page = await context.new_page()
    await page.goto(served.url)

    assert await page.evaluate(LOADED) <= MOST_BYTES
    held_up = {urlsplit(each).path.rpartition(".")[2] for each in await page.evaluate(HELD_UP)}
    assert held_up == {"css"}
    await context.close()
