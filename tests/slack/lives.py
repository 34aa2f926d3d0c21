"""A server that is killed and starts anew over the same record, as often as a test wants.

Each life is a process that SIGKILL ends: nothing of it is tidied up. It is the whole application
but for its desk, which says back what it is asked.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

import aiohttp
from aiohttp import web

from bot.adapters.slack.calling import pacing
from bot.app import build
from bot.config import Settings
from bot.desk import Desk
from bot.observing.logs import set_up_logs
from bot.parts import open_parts
from bot.store import open_store, sqlite_url
from bot.types import Message, Outcome
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.server import TEAM, TOKEN
from tests.bot.adapters.slack.workspace.web_door import WebDoor
from tests.bot.fakes import EchoDesk, MemoryEngine, replied
from tests.bot.server import settings_for

_START_SECONDS = 60.0
_LONGEST_THOUGHT_SECONDS = 0.3


@dataclass
class Lives:
    """One server on one data directory, which may be dead or starting: then it is not ``up``."""

    data_dir: Path
    slack_url: str
    port: int
    door: WebDoor
    deaths: int = 0
    up: asyncio.Event = field(default_factory=asyncio.Event)
    _process: ForkServerProcess | None = None

    async def begin(self) -> None:
        """Start it, and wait until it takes events. Raises TimeoutError."""
        forking = get_context("forkserver")
        forking.set_forkserver_preload([__name__])
        told, tells = forking.Pipe(duplex=False)
        given = (self.data_dir, self.slack_url, self.port, tells)
        self._process = forking.Process(target=live, args=given, daemon=True)
        await asyncio.to_thread(self._process.start)
        tells.close()
        with told:
            if not await asyncio.to_thread(told.poll, _START_SECONDS):
                raise TimeoutError("The server did not start.")
            told.recv()
        self.up.set()

    async def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        assert self._process is not None
        self.up.clear()
        self._process.kill()
        await asyncio.to_thread(self._process.join)
        self._process.close()
        self._process = None
        self.deaths += 1


@asynccontextmanager
async def lives(data_dir: Path, slack_url: str) -> AsyncIterator[Lives]:
    """Keep a server until the block ends, but for the times at which it is killed."""
    port = _free_port()
    at = f"http://127.0.0.1:{port}"
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(at, connector=connector) as session:
        server = Lives(data_dir, slack_url, port, WebDoor(session))
        await server.begin()
        try:
            yield server
        finally:
            await server.kill()


def live(data_dir: Path, slack_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed."""
    set_up_logs("error")
    setattr(pacing, "_RATES", {})  # noqa: B010 - Slack's pace is another test's
    settings = settings_for(
        data_dir,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack_url,
        slack_team_id=TEAM,
        concurrency=64,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
    )
    asyncio.run(_live(settings, port, tells))


async def _live(settings: Settings, port: int, tells: Connection) -> None:
    async with open_parts(settings) as parts:
        store = await open_store(sqlite_url(settings.data_dir))
        desk = cast("Desk", EchoDesk(_thinks))
        app = build(settings, replace(parts, desk=desk), store, MemoryEngine())
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        tells.send("ready")
        await asyncio.Event().wait()


async def _thinks(message: Message) -> Outcome:
    await asyncio.sleep(random.random() * _LONGEST_THOUGHT_SECONDS)  # noqa: S311 - no secret
    return replied(f"You said: {message.text}")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
