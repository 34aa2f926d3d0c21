"""A person's answer becomes knowledge, on a real server: asked, answered, reviewed, asked again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.chromium import NEEDS_AXE, NEEDS_CHROMIUM, Look, Visit, in_looks, visiting
from tests.e2e.conftest import Served, serving
from tests.e2e.people import become

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.slow,
    NEEDS_CHROMIUM,
    NEEDS_AXE,
]

ASKED = "Where may I park my cargo bike at the Lisbon office?"
ANEW = "Where do cargo bikes park at the Lisbon office?"
AGAIN = "cargo bike parking lisbon office"
REPLY = "Cargo bikes park in bay 7 of the underground garage. The gate code is on your badge."


@pytest.fixture(scope="module")
def running(indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data_dir = shutil.copytree(indexed_sample, tmp_path_factory.mktemp("answers") / "data")
    yield from serving(data_dir)


async def answer_the_case(page: Page, url: str) -> None:
    await page.goto(f"{url}/board/escalations")
    await page.locator(".entry-name").first.click()
    await page.locator("#reply").fill(REPLY)
    await page.locator("#send").click()
    await expect(page.locator(".steps-taken")).to_contain_text("bay 7")
    await page.locator("#resolve").click()
    await expect(page.locator("#stands")).to_contain_text("Resolved by Tomas")


async def ask_until_found(visit: Visit, question: str, text: str = "bay 7") -> None:
    """Ask again until what was approved is indexed, which takes less than a minute."""
    for _ in range(12):
        await visit.ask(question)
        if text in await visit.page.locator(".exchange").last.inner_text():
            return
        await visit.page.wait_for_timeout(5_000)


@pytest.mark.timeout(300)
@in_looks(1)
async def test_a_persons_answer_is_given_to_the_next_one_who_asks(
    chromium: Browser, running: Served, look: Look
) -> None:
    async with (
        visiting(chromium, running.url, look.size) as asker,
        visiting(chromium, running.url, look.size) as expert,
        visiting(chromium, running.url, look.size) as other,
    ):
        for visit, name in ((asker, "Mika"), (expert, "Tomas"), (other, "Ines")):
            await visit.look(look)
            await become(visit.page, name)

        await asker.ask(ASKED)
        ask_person = re.compile("ask a person", re.IGNORECASE)
        await asker.page.get_by_role("button", name=ask_person).last.click()
        await expect(asker.page.locator(".case").last).to_contain_text("Waiting for a person")
        await answer_the_case(expert.page, running.url.rstrip("/"))
        await expert.shuts_nobody_out(f"answers-case-{look.name}")

        page = expert.page
        await page.get_by_role("link", name="Keep as answer").click()
        await expect(page.locator("#text")).to_have_value(REPLY)
        await expect(page.locator("#question")).to_have_value("")
        await page.locator("#question").fill(ANEW)
        await page.get_by_label("Everyone").check()
        await expert.shuts_nobody_out(f"answers-draft-{look.name}")
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".stands")).to_contain_text("Published")
        await expert.shuts_nobody_out(f"answers-live-{look.name}")

        await ask_until_found(other, AGAIN)
        found = other.page.locator(".exchange").last
        await expect(found).to_contain_text("bay 7")
        await found.locator("a.mark").first.click()
        await expect(found).to_contain_text("answered by Tomas on", ignore_case=True)
        await other.shuts_nobody_out(f"answers-found-{look.name}")
        await page.goto(f"{running.url.rstrip('/')}/board/answers?state=live")
        await expect(page.locator(".entry-name")).to_have_text(ANEW)
        await expert.shuts_nobody_out(f"answers-list-{look.name}")
        for visit in (asker, expert, other):
            visit.troubles.clear()


@pytest.mark.timeout(300)
@in_looks(1)
async def test_a_standard_answer_is_given_first_and_whole(
    chromium: Browser, running: Served, look: Look
) -> None:
    async with (
        visiting(chromium, running.url, look.size) as expert,
        visiting(chromium, running.url, look.size) as asker,
    ):
        for visit, name in ((expert, "Tomas"), (asker, "Ines")):
            await visit.look(look)
            await become(visit.page, name)
        page = expert.page
        await page.goto(f"{running.url.rstrip('/')}/board/answers")
        await page.get_by_role("link", name="New standard answer").click()
        await page.locator("#question").fill("How do I book the rooftop terrace?")
        await page.locator("#text").fill(
            "Write to the front desk: bay 7.\n\n- At most 40 people\n- Until 22:00"
        )
        await page.locator("#until").fill("2099-01-31")
        await expert.shuts_nobody_out(f"answers-standard-{look.name}")
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".stands")).to_contain_text("Published")

        await ask_until_found(asker, "book rooftop terrace", "Standard answer")
        found = asker.page.locator(".exchange").last
        await expect(found).to_contain_text("Standard answer")
        await expect(found).to_contain_text("Until 22:00")
        await found.get_by_text("Why this answer").click()
        await expect(found.get_by_text("Loading")).to_have_count(0)
        await asker.shuts_nobody_out(f"answers-standard-found-{look.name}")
        for visit in (asker, expert):
            visit.troubles.clear()
