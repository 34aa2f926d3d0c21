"""The whole journey on a real server with a model: asked, doubted, killed, handed over, closed."""

from __future__ import annotations

import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.e2e.chromium import NEEDS_AXE, NEEDS_CHROMIUM, Look, Visit, in_looks, visiting
from tests.e2e.people import ask_a_person, become, take_over
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import Server, on_model, until

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.xdist_group("journey"),
    NEEDS_CHROMIUM,
    NEEDS_AXE,
]

FIRST = "vpn says error 809, what now?"
REPLY = "Use the blue socket until Friday.\n\nThen the new router is in."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncIterator[QuotingModel]:
    async with QuotingModel().serving() as serving:
        yield serving


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(
    indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory, model: QuotingModel
) -> AsyncIterator[Server]:
    """A server that comes back at the same address when it is started again."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {**on_model(model.url), "FRONTDESK_ADMIN_TOKEN": "", "PORT": str(port)}
    data_dir = shutil.copytree(indexed_sample, tmp_path_factory.mktemp("journey") / "data")
    made = Server(data_dir, settings, ("--sample",), plain=False)
    try:
        await made.start()
        yield made
    finally:
        await made.kill()


async def open_source(visit: Visit) -> None:
    """Open the first source's page, and see the quote on it."""
    answer = visit.page.locator(".answer").last
    await answer.locator("a.mark").first.click()
    async with visit.page.context.expect_page() as opening:
        await answer.get_by_role("link", name="Open page").first.click()
    opened = await opening.value
    await expect(opened.locator("#quote")).to_be_in_viewport()
    await opened.close()


async def say_what_was_wrong(page: Page) -> None:
    await page.get_by_role("button", name="No, this didn't help").last.click()
    await page.get_by_text("Outdated").last.click()
    await (
        page.get_by_role("button", name="Send")
        .or_(page.get_by_role("button", name="Save"))
        .last.click()
    )
    await expect(page.locator(".reasons > summary").last).to_contain_text("Saved: Outdated")


async def be_answered_by_the_next_server(
    visit: Visit, running: Server, model: QuotingModel
) -> None:
    """Ask; the server is killed in the middle; the page shows the answer of the next one."""
    model.hold()
    waiting = model.waiting
    await visit.send("How do I reset my password?")
    await until(lambda: model.waiting > waiting, within_seconds=60)
    await running.kill()
    await running.start()
    model.let_go()
    await expect(visit.page.locator(".working")).to_have_count(0)
    await expect(visit.page.locator(".answer").last).to_contain_text("Source")
    visit.troubles.clear()


@pytest.mark.timeout(300)
@in_looks(1)
async def test_a_question_goes_all_the_way(
    chromium: Browser, running: Server, model: QuotingModel, look: Look
) -> None:
    async with (
        visiting(chromium, running.url, look.size) as asker,
        visiting(chromium, running.url, look.size) as expert,
    ):
        for visit, name in ((asker, "Mika"), (expert, "Tomas")):
            await visit.look(look)
            await become(visit.page, name)

        await asker.ask(FIRST)
        await open_source(asker)
        await say_what_was_wrong(asker.page)
        await asker.shuts_nobody_out(f"journey-answer-{look.name}")

        await be_answered_by_the_next_server(asker, running, model)
        card = await ask_a_person(asker)
        await asker.shuts_nobody_out(f"journey-waiting-{look.name}")

        await take_over(expert.page)
        await expect(card).to_contain_text("Tomas")
        await expert.page.locator("#reply").fill(REPLY)
        await expert.page.keyboard.press("Control+Enter")
        await expect(card.locator(".theirs")).to_contain_text("blue socket")
        await expert.shuts_nobody_out(f"journey-board-{look.name}")
        await asker.shuts_nobody_out(f"journey-answered-{look.name}")

        await expert.page.locator("#resolve").click()
        await expect(expert.page.locator("#stands")).to_contain_text("Resolved by Tomas")
        await expect(card).to_contain_text("closed", ignore_case=True)
        asker.troubles.clear()
