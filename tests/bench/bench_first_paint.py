"""How soon the chat is first painted, from a cold cache, beside a page with nothing on it.

``python -m tests.bench.bench_first_paint [--visits 15]``

A real ``serve --sample`` and a real Chromium, a fresh profile a visit, the two pages in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import numpy as np
from aiohttp import web
from playwright.async_api import Browser, async_playwright

from tests.bench.aims import Aim, machine_scale, print_aims
from tests.bench.beside import listen
from tests.e2e.chromium import CHROMIUM, FLAGS
from tests.sweeps.faults.server import Server

MOST_MS = 300.0
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


async def bare_page() -> str:
    """Serve one page without style or script; return its address."""
    app = web.Application()
    app.router.add_get("/", _bare)
    return await listen(app)


async def _bare(_: web.Request) -> web.Response:
    return web.Response(text="<!doctype html><title>Bare</title><p>Hello", content_type="text/html")


async def first_paint(browser: Browser, url: str) -> float:
    """Open a page in a fresh profile; return the milliseconds to its first paint."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(url)
    while not await page.evaluate(f"({PAINTED}) > 0"):
        await page.wait_for_timeout(10)
    painted = float(await page.evaluate(PAINTED))
    await context.close()
    return painted


async def measure(visits: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds to the first paint of the bare page and of the chat, by visit."""
    settings = {"FRONTDESK_ADMIN_TOKEN": "", "PORT": "0"}
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name), settings, ("--sample",))
        try:
            await server.start()
            bare = await bare_page()
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                pairs = [
                    (await first_paint(browser, bare), await first_paint(browser, server.url))
                    for _ in range(visits)
                ]
                await browser.close()
        finally:
            await server.kill()
    return [each for each, _ in pairs], [each for _, each in pairs]


def main() -> int:
    """Measure, print, and return 1 if the aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=15)
    visits = parser.parse_args().visits
    if CHROMIUM is None:
        print("needs Chromium: apt install chromium-headless-shell, or chromium")
        return 1
    bare, chat = asyncio.run(measure(visits))
    scale = machine_scale()
    print(f"{visits} visits each, to the first paint, ms")
    for name, took in (("a bare page", bare), ("the chat", chat)):
        p50, p95 = np.percentile(took, [50, 95])
        print(f"  {name:<12} p50 {p50:6.1f}   p95 {p95:6.1f}")
    print(f"  ratio        p50 {np.median(chat) / np.median(bare):6.1f}")
    return print_aims(Aim("first paint p50", float(np.median(chat)), MOST_MS * scale, "ms"))


if __name__ == "__main__":
    sys.exit(main())
