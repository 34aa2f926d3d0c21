"""A Slack and a model in a process of their own, so that they take no time from who measures.

``python -m tests.bench.slack_doubles --seconds 2`` prints where they are, and serves
until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from tests.bench.beside import listen, process_of
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import CHANNELS


@dataclass(frozen=True, slots=True)
class Doubles:
    """Where the doubles are. ``seen`` lists how many replies each thread has."""

    slack: str
    model: str
    seen: str


@asynccontextmanager
async def doubles(seconds: float = 0.0) -> AsyncIterator[Doubles]:
    """Run a workspace, and a model that takes so long, until the block ends."""
    async with process_of("tests.bench.slack_doubles", "--seconds", str(seconds)) as told:
        yield Doubles(**json.loads(told))


async def replies(session: aiohttp.ClientSession, there: Doubles) -> dict[str, int]:
    """Return how many replies each thread of the workspace has."""
    async with session.get(there.seen) as answer:
        counted: dict[str, int] = await answer.json()
        return counted


async def _serve(seconds: float) -> None:
    async with FakeSlack().serving() as slack, QuotingModel(seconds).serving() as model:
        slack.channels |= set(CHANNELS)

        async def seen(_: web.Request) -> web.Response:
            return web.json_response(Counter(str(post.thread_ts) for post in slack.posts))

        app = web.Application()
        app.router.add_get("/seen", seen)
        where = {"slack": slack.url, "model": model.url, "seen": f"{await listen(app)}/seen"}
        print(json.dumps(where), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0)
    asyncio.run(_serve(parser.parse_args().seconds))
