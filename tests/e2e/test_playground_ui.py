"""One journey in the page of Microsoft's own client, in a real browser, with pictures."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.e2e.chromium import DESKTOP, NEEDS_CHROMIUM, PATIENCE_MS, PICTURES
from tests.e2e.test_playground_api import REPLY, unmentioned
from tests.fakes.playground import (
    BOT_NAME,
    CHAT,
    MEGAN,
    NEEDS_PLAYGROUND,
    PEOPLE,
    PlaygroundScenario,
    SentMessage,
    playground_scenario,
)

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("playground"),
    NEEDS_CHROMIUM,
    NEEDS_PLAYGROUND,
]

_FONTS = "https://res-1.cdn.office.net/"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def there(
    indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PlaygroundScenario]:
    directory = tmp_path_factory.mktemp("playground-page")
    shutil.copytree(indexed_sample, directory / "bot")
    async with playground_scenario(directory) as made:
        yield made


@asynccontextmanager
async def page_of(chromium: Browser, url: str) -> AsyncIterator[Page]:
    """Open the playground; its page asks for Microsoft's fonts besides, and gets none."""
    width, height = DESKTOP
    context = await chromium.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE_MS)
    asked: list[str] = []

    async def only_here(route: Route) -> None:
        if route.request.url.startswith((url, "data:", "blob:")):
            await route.continue_()
        else:
            asked.append(route.request.url)
            await route.abort()

    await context.route("**/*", only_here)
    page = await context.new_page()
    await page.goto(url)
    yield page
    await context.close()
    assert [each for each in asked if not each.startswith(_FONTS)] == []


async def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"playground-{name}.png")


async def opens(page: Page, name: str) -> None:
    """Open a chat or channel."""
    await page.get_by_role("treeitem", name=name).click()


async def asks_in_the_chat(page: Page, question: str) -> None:
    await page.get_by_role("textbox").fill(question)
    await page.get_by_role("button", name="Send Message").click()


async def asks_in_the_channel(page: Page, question: str) -> None:
    """Mention the bot as people do: by @ and its name in the list."""
    box = page.get_by_role("textbox").first
    await box.press_sequentially("@")
    await page.get_by_role("menuitem", name=BOT_NAME).click()
    await box.press_sequentially(f" {question}")
    await page.get_by_role("button", name="Post").click()


async def likes(page: Page, words: str) -> None:
    await page.get_by_role("button", name="Like", exact=True).last.click()
    form = page.get_by_role("dialog")
    await form.get_by_role("textbox").fill(words)
    await form.get_by_role("button", name="Submit").click()
    await page.get_by_role("dialog").get_by_role("button", name="Close").first.click()


def shown(page: Page, words: str) -> Locator:
    return page.get_by_text(words).last


async def finds(page: Page, there: PlaygroundScenario, channel: str, words: str) -> None:
    """Open a channel once something was posted there."""
    screen = there.alex.screen
    await screen.until(lambda: [each for each in screen.shown if words in json.dumps(each.now)])
    await opens(page, channel)
    await expect(shown(page, words)).to_be_visible()


async def writes_below_the_card(there: PlaygroundScenario) -> None:
    """Let Megan answer in the card's thread, whose consent lets Teams tell the bot."""
    screen = there.alex.screen
    heard = (each for each in screen.log if each.get("to") == "User Application")
    bodies = [each["request"]["body"] for each in heard if each.get("activityName") == "message"]
    (card,) = [each for each in screen.at(PEOPLE) if each.cards]
    like = SentMessage(card.thread, "", bodies[-1])
    await unmentioned(there.alex.another(MEGAN), REPLY, card.thread, like)


async def test_a_question_goes_from_the_chat_to_the_people(
    chromium: Browser, there: PlaygroundScenario
) -> None:
    async with page_of(chromium, there.playground.url) as page:
        await opens(page, "Personal Chat")
        await expect(
            shown(
                page,
                "Hello! Ask me a question",
            )
        ).to_be_visible()
        await asks_in_the_chat(page, "vpn says error 809, what now?")
        # The words and the card of the table below them are labelled, each.
        await expect(page.get_by_role("button", name="AI generated")).to_have_count(2)
        await page.get_by_role("button", name="1", exact=True).hover()
        await expect(shown(page, "VPN \u203a Error codes")).to_be_visible()
        await picture(page, "answer")
        await likes(page, "It worked.")
        await picture(page, "liked")

        await opens(page, "General")
        await asks_in_the_channel(page, "Who approves travel?")
        await expect(shown(page, "your manager approves the trip")).to_be_visible()
        await picture(page, "channel")
        await page.get_by_role("button", name="Ask a person").click()
        await expect(shown(page, "I've asked the people who look after this")).to_be_visible()
        await picture(page, "handed-over")

        await finds(page, there, "Help desk", "A question for a person")
        await picture(page, "case")
        await writes_below_the_card(there)
        await expect(shown(page, "Send this to Alex Wilber?")).to_be_visible()
        await shown(page, "Send this to Alex Wilber?").scroll_into_view_if_needed()
        await picture(page, "offered")
        await page.get_by_role("button", name="Claim").click()
        await expect(shown(page, "Claimed by Alex Wilber")).to_be_visible()
        await picture(page, "claimed")
        kept = await there.recorded(there.alex.screen.at(CHAT)[-1])

        await opens(page, "Personal Chat")
        await asks_in_the_chat(page, "my cases")
        await expect(shown(page, "Who approves travel?")).to_be_visible()
        await shown(page, "Who approves travel?").scroll_into_view_if_needed()
        await picture(page, "my-cases")

    assert [each["comment"] for each in kept["feedback"]] == ["It worked."]
