"""What the invented colleagues of the sample company do in a browser."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.e2e.chromium import Visit


async def become(page: Page, name: str) -> None:
    """Play one of the invented colleagues."""
    await page.locator("details.me summary").click()
    await page.get_by_role("button", name=name).click()
    await expect(page.locator("details.me summary")).to_contain_text(name)


async def ask_a_person(visit: Visit) -> Locator:
    """Hand the last answer to people; return the case's card."""
    await visit.page.locator(".answer").last.get_by_role("button", name="Ask a person").click()
    card = visit.page.locator(".case").last
    await expect(card).to_contain_text("Waiting for a person")
    return card


async def take_over(page: Page) -> None:
    """Claim the newest case of those that wait."""
    await page.goto(page.url.split("/board")[0].rstrip("/") + "/board/escalations")
    await page.locator(".entry-name").last.click()
    await page.locator("#claim").click()
    # The form is replaced then, with what is typed into it meanwhile.
    await expect(page.locator("#claim")).to_have_count(0)
    await expect(page.locator("#send")).to_be_visible()
