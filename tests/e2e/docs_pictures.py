"""Take the pictures of the documentation: ``python -m tests.e2e.docs_pictures``.

A real ``serve --sample`` and a real Chromium, as a newcomer would use them; writes docs/images.
Look at what was written before you commit it.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Page, expect

from tests.e2e.chromium import DESKTOP, launched, visiting
from tests.e2e.people import ask_a_person, become, take_over
from tests.sweeps.faults.server import Server

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ANSWERED = "vpn says error 809, what now?"
NOT_ANSWERED = "does the company pay for my pet insurance?"
SETTINGS = {"FRONTDESK_ADMIN_TOKEN": "", "PORT": "0", "CONFIDENCE_THRESHOLD": "0.65"}
"""The threshold is the one by default."""
WHOLE_ANSWER = 960
"""The height in which the question and its answer are seen together."""
REPLY = "No, pets are not covered. I have asked HR to say so on the page about benefits."


async def take(page: Page, name: str) -> None:
    """Write the window as it is when it has come to rest."""
    await page.wait_for_timeout(1000)
    await page.screenshot(path=IMAGES / f"{name}.png")


async def take_all(url: str) -> None:
    """Ask, hand over and reply, with a picture of each."""
    async with (
        launched() as chromium,
        visiting(chromium, url, DESKTOP) as asker,
        visiting(chromium, url, DESKTOP) as expert,
    ):
        for visit, name in ((asker, "Mika"), (expert, "Tomas")):
            await become(visit.page, name)
        await asker.page.set_viewport_size({"width": DESKTOP[0], "height": WHOLE_ANSWER})
        await asker.ask(ANSWERED)
        await asker.page.locator(".answer a.mark").first.click()
        await take(asker.page, "chat")
        await asker.page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})

        await asker.page.get_by_role("button", name="New conversation").click()
        await asker.ask(NOT_ANSWERED)
        card = await ask_a_person(asker)
        await take_over(expert.page)
        await expert.page.locator("#reply").fill(REPLY)
        await take(expert.page, "escalation")
        await expert.page.keyboard.press("Control+Enter")
        await expect(card.locator(".theirs")).to_contain_text("pets")
        await asker.page.evaluate("document.querySelector('.case').scrollIntoView()")
        await take(asker.page, "person")

        await expert.page.goto(f"{url}/board")
        await take(expert.page, "board")


async def main() -> None:
    """Serve the sample company and take the pictures."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name), SETTINGS, ("--sample",))
        try:
            await server.start()
            await take_all(server.url)
        finally:
            await server.kill()
    print(f"Written: {IMAGES}")


if __name__ == "__main__":
    asyncio.run(main())
