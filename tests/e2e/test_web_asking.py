"""What is asked beside typing, in a real Chromium: a section beside, an edited question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, FilePayload, expect

from bot.answering.attachments import MOST_BYTES
from bot.store.database import Store
from tests.e2e.chromium import (
    DESKTOP,
    NEEDS_AXE,
    NEEDS_CHROMIUM,
    PATIENCE_MS,
    Look,
    Visit,
    in_looks,
    visiting,
)
from tests.fakes.builders import chunk
from tests.fakes.chat_app import OnePageIndex, VpnDesk, chat_app

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    NEEDS_CHROMIUM,
]
HEADINGS = ("Use a hotspot", "Error 812 and other errors of the client on Windows", "Mobile")


@pytest_asyncio.fixture(loop_scope="session")
async def desk() -> VpnDesk:
    return VpnDesk()


@pytest_asyncio.fixture(loop_scope="session")
async def url(tmp_path: Path, store: Store, desk: VpnDesk) -> AsyncIterator[str]:
    further = [
        chunk("Text.", chunk_id=f"c{place}", section=heading)
        for place, heading in enumerate(HEADINGS, 2)
    ]
    pages = OnePageIndex(further=further)
    async with chat_app(tmp_path, store, pages, desk) as app, TestServer(app) as server:
        yield str(server.make_url("/")).rstrip("/")


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, url: str) -> AsyncIterator[Visit]:
    async with visiting(chromium, url, DESKTOP) as opened:
        yield opened


@NEEDS_AXE
@in_looks()
async def test_what_can_be_asked_next_shuts_nobody_out(visit: Visit, look: Look) -> None:
    await visit.look(look)
    await visit.ask("vpn says error 809")
    await visit.shuts_nobody_out(f"next-{look.name}")
    await visit.page.get_by_text("Edit", exact=True).click()
    await expect(visit.page.get_by_role("textbox", name="Your edited question")).to_be_focused()
    await visit.shuts_nobody_out(f"edit-{look.name}")


async def test_a_section_beside_is_asked_about_by_a_click(visit: Visit, desk: VpnDesk) -> None:
    page = visit.page
    await visit.ask("error 809")
    await page.get_by_role("button", name="Use a hotspot").dblclick()
    await expect(page.locator(".exchange")).to_have_count(2)
    await expect(page.locator(".working")).to_have_count(0)

    assert [each.message.text for each in desk.asked] == ["error 809", "VPN: Use a hotspot"]
    await expect(page.locator(".further")).to_be_hidden()


async def test_an_edited_question_is_asked_again_by_keyboard(visit: Visit, desk: VpnDesk) -> None:
    page = visit.page
    await visit.ask("pet 809")
    await page.locator(".edit summary").focus()
    await page.keyboard.press("Enter")
    changed = page.get_by_role("textbox", name="Your edited question")
    await expect(changed).to_be_focused()
    await page.keyboard.type(", please")
    await page.keyboard.press("Enter")
    await expect(page.locator(".asked")).to_contain_text("pet 809, please")
    await expect(page.locator(".answer.found")).to_have_count(1)

    assert [each.message.text for each in desk.asked] == ["pet 809", "pet 809, please"]
    await expect(page.locator(".exchange")).to_have_count(1)
    await page.reload()
    await expect(page.locator(".exchange")).to_have_count(1)


async def test_escape_leaves_a_question_as_it_was(visit: Visit, desk: VpnDesk) -> None:
    page = visit.page
    await visit.ask("error 809")
    await page.get_by_text("Edit", exact=True).click()
    await page.get_by_role("textbox", name="Your edited question").fill("another")
    await page.keyboard.press("Escape")

    await expect(page.locator(".edit summary")).to_be_focused()
    await expect(page.locator(".edit textarea")).to_have_value("error 809")
    assert len(desk.asked) == 1


async def test_only_the_last_question_offers_to_be_edited(visit: Visit) -> None:
    await visit.ask("error 809")
    await visit.ask("error 809 again")

    await expect(visit.page.locator(".edit").first).to_be_hidden()
    await expect(visit.page.locator(".edit").last).to_be_visible()


VPN_LOG: FilePayload = {
    "name": "vpn.log",
    "mimeType": "text/plain",
    "buffer": b"10:00 connecting\n10:01 ERROR 809\n",
}
LARGE: FilePayload = {"name": "a.log", "mimeType": "text/plain", "buffer": b"x" * (MOST_BYTES + 1)}


@NEEDS_AXE
@in_looks()
async def test_a_file_goes_along_with_a_question(visit: Visit, desk: VpnDesk, look: Look) -> None:
    page = visit.page
    await visit.look(look)
    await page.locator("#file").set_input_files([VPN_LOG])
    await expect(page.locator("#files")).to_contain_text("vpn.log")
    await expect(page.locator(visit.box)).to_be_focused()
    await visit.shuts_nobody_out(f"file-{look.name}")
    await visit.ask("what does 809 mean?")

    await expect(page.locator(".asked")).to_contain_text("vpn.log")
    await expect(page.locator("#files")).to_be_hidden()
    assert [each.name for each in desk.asked[0].attached] == ["vpn.log"]
    await page.get_by_text("Edit", exact=True).click()
    await visit.shuts_nobody_out(f"filed-{look.name}")


async def test_a_file_alone_is_sent_and_one_that_was_removed_is_not(
    visit: Visit, desk: VpnDesk
) -> None:
    page = visit.page
    await page.locator("#file").set_input_files([VPN_LOG])
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".exchange")).to_have_count(1)
    await expect(page.locator(".working")).to_have_count(0)
    await page.locator("#file").set_input_files([VPN_LOG])
    await page.get_by_role("button", name="Remove the files").click()
    await visit.ask("error 809")

    assert [len(each.attached) for each in desk.asked] == [1, 0]


async def test_a_file_that_is_too_large_is_said_before_it_is_sent(
    visit: Visit, desk: VpnDesk
) -> None:
    page = visit.page
    await page.locator("#file").set_input_files([LARGE])
    await expect(page.get_by_role("alert")).to_contain_text("larger than 2 MB")
    await page.locator(visit.box).fill("error 809")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("larger than 2 MB")

    assert desk.asked == []


async def test_the_files_are_chosen_by_keyboard(visit: Visit) -> None:
    page = visit.page
    await page.locator(visit.box).focus()
    await page.keyboard.press("Tab")
    await expect(page.locator("#file")).to_be_focused()
    chosen = asyncio.Event()
    page.once("filechooser", lambda _: chosen.set())
    async with asyncio.timeout(PATIENCE_MS / 1000):
        # The browser may take the first key before it is told to report choosers.
        while not chosen.is_set():
            await page.keyboard.press("Enter")
            await page.wait_for_timeout(200)


async def test_without_scripts_a_file_goes_along(
    chromium: Browser, url: str, desk: VpnDesk
) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url)
    await page.locator("#file").set_input_files([VPN_LOG])
    await page.get_by_role("textbox", name="Your question").fill("error 809")
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".answer.found")).to_have_count(1)

    await expect(page.locator(".asked")).to_contain_text("vpn.log")
    assert [each.name for each in desk.asked[0].attached] == ["vpn.log"]
    await context.close()


async def test_without_scripts_sections_and_edits_work(chromium: Browser, url: str) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url)
    await page.get_by_role("textbox", name="Your question").fill("error 809")
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".answer.found")).to_have_count(1)
    await page.get_by_role("button", name="Mobile").click()
    await expect(page.locator(".exchange")).to_have_count(2)
    await expect(page.locator(".asked").last).to_contain_text("VPN: Mobile")
    await page.get_by_role("textbox", name="Your question").fill("error 809 now")
    await page.get_by_role("button", name="Ask", exact=True).click()
    await expect(page.locator(".answer.found")).to_have_count(2)
    await page.get_by_text("Edit", exact=True).click()
    await page.get_by_role("textbox", name="Your edited question").fill("error 809 later")
    await page.get_by_role("button", name="Ask again").click()

    await expect(page.locator(".asked").last).to_contain_text("error 809 later")
    await expect(page.locator(".exchange")).to_have_count(3)
    await context.close()
