"""What a bench measures with: processes beside it, a rate of requests, and what is printed."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

import numpy as np
from aiohttp import web

from tests.fork_server import ROOT


@asynccontextmanager
async def process_of(module: str, *arguments: str) -> AsyncIterator[str]:
    """Run a module in a process of its own until the block ends; give the line that it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()


async def listen(app: web.Application) -> str:
    """Serve until the process is ended; return the address."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"


T = TypeVar("T")
Sent = tuple[int, float]
"""The status that something was answered with, and after how many milliseconds."""


async def send_at(
    rate: float, what: Sequence[T], send: Callable[[T], Awaitable[Sent]]
) -> tuple[list[float], int]:
    """Send so many a second; return the milliseconds of each, and how many were taken."""
    began = time.perf_counter()

    async def one(position: int, each: T) -> Sent:
        await asyncio.sleep(max(0.0, began + position / rate - time.perf_counter()))
        return await send(each)

    done = await asyncio.gather(*(one(*each) for each in enumerate(what)))
    return [took for _, took in done], sum(status == HTTPStatus.OK for status, _ in done)


def print_beside(bare_ms: Sequence[float], served_ms: Sequence[float]) -> float:
    """Print what acknowledging took, and on a bare server; return the ratio of their p99."""
    ranks = [np.percentile(values, [50, 99]) for values in (bare_ms, served_ms)]
    rows = zip(("bare server", "serve"), ranks, (bare_ms, served_ms), strict=True)
    for label, (p50, p99), values in rows:
        print(f"  {label:<12}  p50 {p50:7.1f}   p99 {p99:7.1f}   longest {max(values):7.1f}")
    (bare_p50, bare_p99), (p50, p99) = ranks
    print(f"  ratio         p50 {p50 / bare_p50:7.1f}   p99 {p99 / bare_p99:7.1f}")
    return float(p99 / bare_p99)


def run_at_rate(run: Callable[[float, float], Awaitable[int]]) -> int:
    """Read rates and seconds from the command line and run; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, nargs="+", default=[50.0])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()

    async def ran() -> int:
        return max([await run(rate, options.seconds) for rate in options.rate])

    return asyncio.run(ran())
