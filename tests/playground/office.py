"""A bot on the sample company, and the playground that talks to it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.faults.server import Client, Server, client
from tests.playground.company import PEOPLE
from tests.playground.hands import Hands, at
from tests.playground.running import Playground, playground
from tests.playground.screen import Shown

_PUBLIC = "https://localhost"
"""Teams opens only https; nobody calls it, its pages are asked of the bot itself."""


@dataclass(frozen=True)
class Office:
    """Alex at the playground, the bot behind it, and its operator."""

    bot: Server
    alex: Hands
    operator: Client
    playground: Playground

    async def recorded(self, shown: Shown) -> dict[str, Any]:
        """Return what is kept of the question that a card with buttons is about."""
        about = next(action["data"]["about"] for action in shown.actions)
        status, told = await self.operator.get(f"{self.bot.url}/api/v1/interactions/{about}")
        assert status == 200, told
        return told

    async def page(self, url: str) -> int:
        """Open a page that is cited; return the status."""
        assert url.startswith(f"{_PUBLIC}/pages/"), url
        return await self.operator.page(f"{self.bot.url}{urlsplit(url).path}")


@asynccontextmanager
async def office(directory: Path) -> AsyncIterator[Office]:
    """Start both; at the end no process is left."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (directory / "bot").mkdir()
    bot = Server(directory / "bot", _settings(port), ("--sample",))
    try:
        await bot.start()
        async with (
            playground(directory, f"{bot.url}/api/messages") as played,
            at(played.url) as alex,
            client() as operator,
        ):
            yield Office(bot, alex, operator, played)
    finally:
        await bot.kill()
        print("\n".join([*bot.said, *bot.logged]))


def _settings(port: int) -> dict[str, str]:
    return {
        "PORT": str(port),
        "PUBLIC_URL": _PUBLIC,
        "TEAMS_DEV_MODE": "true",
        "TEAMS_ESCALATION_CHANNEL": PEOPLE,
        "TEAMS_ADMINS": "alex@contoso.example",
    }
