"""A newcomer's way through the chat, in a real Chromium."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.e2e.conftest import Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = Path(__file__).parents[2] / ".build" / "pictures"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("served"),
    pytest.mark.skipif(
        CHROMIUM is None and not os.environ.get("CI"), reason="needs Chromium: apt install chromium"
    ),
]


@pytest.fixture
async def page(served: Served) -> AsyncIterator[Page]:
    """A fresh browser on the chat; fails when the page asks for anything elsewhere or complains."""
    troubles: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = await browser.new_context(viewport={"width": 1000, "height": 760})
        opened = await context.new_page()
        opened.on(
            "console", lambda said: troubles.append(said.text) if said.type == "error" else None
        )
        opened.on("pageerror", lambda error: troubles.append(str(error)))
        opened.on(
            "request",
            lambda asked: None if asked.url.startswith(served.url) else troubles.append(asked.url),
        )
        await opened.goto(served.url)
        yield opened
        await browser.close()
    assert troubles == []


async def ask(page: Page, question: str) -> None:
    """Type a question, send it with Enter, and wait for its answer."""
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator(".asked").last).to_contain_text(question)
    await expect(page.locator(".working")).to_have_count(0, timeout=20_000)


async def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


async def test_a_question_is_answered_and_its_source_opens_at_the_quote(page: Page) -> None:
    await ask(page, "vpn says error 809, what now?")

    answer = page.locator(".answer").last
    await expect(answer).to_contain_text("What the wiki says")
    await answer.locator("a.mark").first.click()
    quote = await answer.locator(".sources blockquote").first.inner_text()
    await picture(page, "answer")
    async with page.context.expect_page() as opening:
        await answer.get_by_role("link", name="Open the page").first.click()
    opened = await opening.value
    marked = await opened.locator("mark").all_inner_texts()
    await picture(opened, "page")
    assert marked
    assert re.sub(r"\W+", "", marked[0]) in re.sub(r"\W+", "", quote)


async def test_what_is_not_in_the_wiki_is_offered_to_a_person_with_reasons(page: Page) -> None:
    await ask(page, "does the company pay for my pet insurance?")

    answer = page.locator(".answer").last
    await expect(answer).to_contain_text("Shall I ask a person?")
    await answer.get_by_text("Why no answer").click()
    await expect(answer.locator(".why")).to_contain_text("is needed to answer")
    await picture(page, "no-answer")
    await answer.get_by_role("button", name="Ask a person").click()
    await expect(page.locator(".answer").last).to_contain_text("help desk's list", timeout=20_000)


async def test_a_thumb_can_be_given_and_taken_back(page: Page) -> None:
    await ask(page, "vpn says error 809, what now?")
    helped = page.get_by_role("button", name="Yes, this helped").last

    await helped.click()
    await expect(helped).to_have_attribute("aria-pressed", "true")
    await page.reload()
    await expect(helped).to_have_attribute("aria-pressed", "true")
    await helped.click()
    await expect(helped).to_have_attribute("aria-pressed", "false")


async def test_small_talk_has_no_sources(page: Page) -> None:
    await ask(page, "hi there!")

    answer = page.locator(".answer").last
    await expect(answer.locator(".sources")).to_have_count(0)
    await expect(answer).not_to_contain_text("Did this help?")


async def test_a_starter_can_be_clicked_and_a_new_conversation_begun(page: Page) -> None:
    await page.locator(".starters button").first.click()
    await expect(page.locator(".asked")).to_have_count(1)
    await page.get_by_role("button", name="New conversation").click()

    await expect(page.get_by_role("heading", name="What can I look up for you?")).to_be_visible()


async def test_hostile_text_stays_text(page: Page) -> None:
    await ask(page, "<img src=x onerror=alert(1)> ![x](https://evil.example/x.png)")

    assert await page.locator("#messages img").count() == 0


async def test_a_phone_shows_everything_without_scrolling_sideways(page: Page) -> None:
    await page.set_viewport_size({"width": 375, "height": 740})
    await ask(page, "vpn says error 809, what now?")
    await picture(page, "phone")

    overflow = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    assert overflow <= 0


async def test_the_dark_scheme_is_used_when_asked_for(page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await ask(page, "vpn says error 809, what now?")
    await picture(page, "dark")

    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground == "rgb(20, 26, 25)"


async def test_everything_can_be_reached_with_the_keyboard(page: Page) -> None:
    await ask(page, "vpn says error 809, what now?")
    named = "document.activeElement.ariaLabel || document.activeElement.innerText || ''"
    reached: set[str] = set()
    for _ in range(30):
        await page.keyboard.press("Tab")
        reached.add(str(await page.evaluate(named)).strip())

    assert {"Yes, this helped", "Ask a person", "Why this answer", "New conversation"} <= reached
