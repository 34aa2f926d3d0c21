"""A newcomer's way through the chat on the sample company, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.chromium import DESKTOP, NEEDS_CHROMIUM, PHONE, Visit, visiting
from tests.e2e.conftest import Served

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.browser,
    pytest.mark.xdist_group("served"),
    NEEDS_CHROMIUM,
]
NOWHERE = "vpn says error 4711, what now?"
"""The sample has no such error: a code that is on no page is never answered."""


@pytest_asyncio.fixture(loop_scope="module")
async def visit(chromium: Browser, served: Served) -> AsyncIterator[Visit]:
    async with visiting(chromium, served.url, DESKTOP) as opened:
        yield opened


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
    await expect(answer).to_contain_text("No sure answer")
    await answer.get_by_text("Why no answer").click()
    await expect(answer.locator(".steps")).to_contain_text("code from your question is in none")
    await visit.picture("no-answer")
    await answer.get_by_role("button", name="Ask a person").click()
    await expect(visit.page.locator(".answer").last).to_contain_text("For a person")


async def test_a_thumb_can_be_given_and_taken_back(visit: Visit) -> None:
    await visit.ask("vpn says error 809, what now?")
    helped = visit.page.get_by_role("button", name="Yes, this helped").last

    await helped.click()
    await expect(helped).to_have_attribute("aria-pressed", "true")
    await expect(helped).to_be_focused()
    await visit.page.reload()
    await expect(helped).to_have_attribute("aria-pressed", "true")
    await helped.click()
    await expect(helped).to_have_attribute("aria-pressed", "false")


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
    assert await sideways(visit) <= 0


async def test_a_phone_shows_everything_without_scrolling_sideways(visit: Visit) -> None:
    await visit.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    await visit.ask("vpn says error 809, what now?")
    await visit.page.locator(".why summary").first.click()
    await visit.page.get_by_text("passages I read").click()
    await visit.picture("phone")

    assert await sideways(visit) <= 0


async def sideways(visit: Visit) -> int:
    """Return by how many pixels the page is wider than its window."""
    wider: int = await visit.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wider
