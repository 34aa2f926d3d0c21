"""A server that is killed and starts anew over the same record, as often as a test wants.

Each life is a process that SIGKILL ends: nothing of it is tidied up. It is the whole application
but for its desk, which says back what it is asked.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

import aiohttp
from aiohttp import web

from bot.answering.desk import Desk
from bot.app.build import build
from bot.app.components import open_components
from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from tests.bot.fakes import EchoDesk, MemoryEngine, replied

_START_SECONDS = 60.0
_LONGEST_THOUGHT_SECONDS = 0.3

Live = Callable[[Path, str, int, Connection], None]
"""Is a server until killed: given its folder, where the platform is, and its port; see ``serve``.

It is what another process is made of, so it stands in a module.
"""


@dataclass
class Lives:
    """One server on one data directory, which may be dead or starting: then it is not ``up``."""

    live: Live
    data_dir: Path
    platform_url: str
    port: int
    session: aiohttp.ClientSession
    deaths: int = 0
    up: asyncio.Event = field(default_factory=asyncio.Event)
    _process: ForkServerProcess | None = None

    async def begin(self) -> None:
        """Start it, and wait until it takes events. Raises TimeoutError."""
        forking = get_context("forkserver")
        forking.set_forkserver_preload([self.live.__module__])
        told, tells = forking.Pipe(duplex=False)
        given = (self.data_dir, self.platform_url, self.port, tells)
        self._process = forking.Process(target=self.live, args=given, daemon=True)
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
async def lives(live: Live, data_dir: Path, platform_url: str) -> AsyncIterator[Lives]:
    """Keep a server until the block ends, but for the times at which it is killed."""
    port = _free_port()
    at = f"http://127.0.0.1:{port}"
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(at, connector=connector) as session:
        server = Lives(live, data_dir, platform_url, port, session)
        await server.begin()
        try:
            yield server
        finally:
            await server.kill()


async def serve(settings: Settings, port: int, tells: Connection) -> None:
    """Be a server, and tell when it takes events."""
    async with open_components(settings) as parts:
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
