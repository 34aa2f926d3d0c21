"""A real Chromium for tests: one a worker, a fresh profile a test."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))),
    None,
)
"""The headless shell is the same engine without a desktop: a third of the processor time."""
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
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"),
    reason="needs Chromium: apt install chromium-headless-shell, or chromium",
)
AXE = find_spec("axe_playwright_python")
NEEDS_AXE = pytest.mark.skipif(AXE is None, reason="needs the package axe-playwright-python")
DESKTOP, PHONE = (1280, 800), (375, 740)
PATIENCE_MS = 60_000
"""How long a test waits for what the page will show; only a page that never does takes so long."""


@dataclass(frozen=True)
class Look:
    """A window of a size, in light or dark."""

    name: str
    size: tuple[int, int]
    scheme: Literal["light", "dark"]


LOOKS = [
    Look("desktop-light", DESKTOP, "light"),
    Look("phone-dark", PHONE, "dark"),
    Look("phone-light", PHONE, "light"),
    Look("desktop-dark", DESKTOP, "dark"),
]


def in_looks(often: int = 2) -> pytest.MarkDecorator:
    """Give a test its ``look``: so many in ``make test``, all four in ``make sweeps``.

    Two have each size and each scheme in them.
    """
    marks = [()] * often + [pytest.mark.sweep] * (len(LOOKS) - often)
    looks = zip(LOOKS, marks, strict=True)
    values = [pytest.param(look, id=look.name, marks=mark) for look, mark in looks]
    return pytest.mark.parametrize("look", values)


@dataclass(frozen=True)
class Visit:
    """A tab on the chat, and what the browser complained of."""

    page: Page
    troubles: list[str] = field(default_factory=list)

    @property
    def box(self) -> str:
        return "#question"

    async def send(self, question: str) -> None:
        """Type a question, send it with Enter, and see it in the conversation."""
        before = await self.page.locator(".exchange").count()
        await self.page.locator(self.box).fill(question)
        await self.page.keyboard.press("Enter")
        await expect(self.page.locator(".exchange")).to_have_count(before + 1)

    async def ask(self, question: str) -> None:
        """Send a question and wait until nothing is being worked on."""
        await self.send(question)
        await expect(self.page.locator(".working")).to_have_count(0)

    async def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=PICTURES / f"{name}.png")

    async def findings(self) -> Sequence[str]:
        """Return what axe finds serious or critical on the page as it is now."""
        assert AXE is not None
        assert AXE.submodule_search_locations
        if not await self.page.evaluate("'axe' in window"):
            source = Path(AXE.submodule_search_locations[0]) / "axe.min.js"
            await self.page.evaluate(source.read_text(encoding="utf-8"))
        found = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [_told(each) for each in found["violations"] if each["impact"] in _GRAVE]

    async def look(self, look: Look) -> None:
        """See the page in another window from now on."""
        width, height = look.size
        await self.page.set_viewport_size({"width": width, "height": height})
        await self.page.emulate_media(color_scheme=look.scheme)

    async def sideways(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        wider: int = await self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wider

    async def shuts_nobody_out(self, picture: str) -> None:
        """Take a picture; nothing on the page is a barrier, and nothing sticks out."""
        await self.picture(picture)
        assert await self.findings() == [], picture
        assert await self.sideways() <= 0, picture


# What htmx logs of a request that ended because its page was left. One that failed is logged by
# another event besides, such as htmx:sendError.
_LEFT = ("htmx:afterRequest", "htmx:sendAbort")


def _complaint(said: ConsoleMessage) -> Sequence[str]:
    if said.type != "error" or said.text.startswith(_LEFT):
        return []
    return [f"{said.text} {said.location['url']}"]


_GRAVE = {"serious", "critical"}


def _told(violation: Mapping[str, object]) -> str:
    nodes = violation["nodes"]
    assert isinstance(nodes, list)
    return f"{violation['id']}: " + "; ".join(str(node["target"]) for node in nodes)


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Run Chromium."""
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def visiting(
    browser: Browser, url: str, size: tuple[int, int], *, also: str = ""
) -> AsyncIterator[Visit]:
    """Open the chat in a fresh profile; nothing may be asked elsewhere or be complained of.

    ``also`` is another address that may be asked: the issuer that people sign in with.
    """
    ours = (url, also) if also else (url,)
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    visit = Visit(page)
    context.on("console", lambda said: visit.troubles.extend(_complaint(said)))
    context.on("weberror", lambda error: visit.troubles.append(str(error.error)))
    context.on(
        "request",
        lambda asked: None if asked.url.startswith(ours) else visit.troubles.append(asked.url),
    )
    await page.goto(url)
    yield visit
    await context.close()
    assert visit.troubles == [], visit.troubles
