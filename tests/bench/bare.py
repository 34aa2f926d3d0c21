"""The least that takes Slack's events: read, verify the signature, answer 200.

``python -m tests.bench.bare`` prints where it is, and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from tests.bot.adapters.slack.events import SECRET
from tests.e2e.conftest import ROOT


@asynccontextmanager
async def bare_server() -> AsyncIterator[str]:
    """Run it in a process of its own until the block ends; give its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.bare"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()


async def _serve() -> None:
    verifier = SignatureVerifier(SECRET)

    async def acknowledge(request: web.Request) -> web.Response:
        body = await request.read()
        valid = verifier.is_valid_request(body, dict(request.headers))
        return web.Response(status=200 if valid else 401)

    app = web.Application()
    app.router.add_post("/slack/events", acknowledge)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
