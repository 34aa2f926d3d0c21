"""How soon the web page shows a question while others are being answered.

``python -m tests.bench.bench_chat [--rate 50] [--seconds 12]``

A real ``serve --sample``; each question comes from a conversation of its own. Measured from
outside, from the click to the bubble that shows the question; beside it the page itself when
nobody else asks.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import numpy as np

from tests.bench.aims import Aim, print_aims
from tests.sweeps.faults.server import Server

LOOKS = 20
MOST_TIMES = 10.0
"""How many times as long as the page alone a bubble may take, at p50."""


async def asked(session: aiohttp.ClientSession, url: str, number: int) -> float:
    """Ask as the page does; return the milliseconds until the bubble is there."""
    form = {"question": f"vpn error 809, number {number}", "message": str(uuid.uuid4())}
    headers = {"Origin": url, "HX-Request": "true"}
    began = time.perf_counter()
    async with session.post(f"{url}/chat/{uuid.uuid4()}", data=form, headers=headers) as bubble:
        await bubble.read()
        bubble.raise_for_status()
    return (time.perf_counter() - began) * 1000


async def looked(session: aiohttp.ClientSession, url: str) -> float:
    began = time.perf_counter()
    async with session.get(url) as page:
        await page.read()
    return (time.perf_counter() - began) * 1000


async def run(rate: float, seconds: float) -> int:
    """Measure and print; return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        settings = {"FRONTDESK_ADMIN_TOKEN": "", "PORT": "0", "FRONTDESK_WAITING": "100000"}
        server = Server(Path(name), settings, ("--sample",))
        try:
            await server.start()
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                idle = [await looked(session, server.url) for _ in range(LOOKS)]

                async def one(number: int) -> float:
                    await asyncio.sleep(number / rate)
                    return await asked(session, server.url, number)

                busy = await asyncio.gather(*(one(n) for n in range(round(rate * seconds))))
        finally:
            await server.kill()
    print(f"{len(busy)} questions at {rate:.0f}/s, each in a conversation of its own, ms")
    print(f"  the page, nobody asks   {_spread(idle)}")
    print(f"  until the bubble shows  {_spread(busy)}")
    ratio = float(np.median(busy) / np.median(idle))
    return print_aims(Aim("the bubble over the page alone, p50", ratio, MOST_TIMES))


def _spread(took: Sequence[float]) -> str:
    p50, p99 = np.percentile(took, [50, 99])
    return f"p50 {p50:7.1f}   p99 {p99:7.1f}   longest {max(took):7.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=12.0)
    given = parser.parse_args()
    sys.exit(asyncio.run(run(given.rate, given.seconds)))
