"""The whole application as ``serve`` builds it, over a small index, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.app.build import build
from bot.app.components import open_components
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.sync.sync import Folder, sync_folder
from tests.bot.fakes import MemoryEngine

Client = TestClient[web.Request, web.Application]

PAGES = {
    "vpn.md": "# VPN\n\n## Error 809\n\nError 809 means that the office router blocks UDP port "
    "4500. Plug the cable into the blue socket instead.\n",
    "leave.md": "# Annual leave\n\nEveryone has 28 days of annual leave a year. Book it in the "
    "calendar two weeks ahead.\n",
    "wifi.md": "# Guest Wi-Fi\n\nReception prints a voucher for each guest. It lasts one day.\n",
    "rescue.md": "---\nreaders: [group:admins]\n---\n# Rescue account\n\nThe zirconium envelope "
    "with the rescue password is in the safe of room 4711.\n",
}
LIKELY = "vpn error 809"
LOW = 0.05
"""A threshold that anything sensible passes: what is tested is the way, not the gate."""


async def write_index(settings: Settings, folder: Path, pages: Mapping[str, str] = PAGES) -> None:
    """Index pages into the space IT."""
    _write(folder, pages)
    async with open_components(settings) as parts:
        await sync_folder(
            Folder(folder, "IT"),
            parts.index,
            parts.embedder,
            tenant=settings.tenant,
            data_dir=settings.data_dir,
        )


def _write(folder: Path, pages: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


@asynccontextmanager
async def house(settings: Settings) -> AsyncIterator[Client]:
    """Serve until the block ends; what is written stays in the data directory."""
    async with open_components(settings) as parts:
        store = await open_store(sqlite_url(settings.data_dir))
        try:
            app = build(settings, parts, store, MemoryEngine())
            async with TestClient(TestServer(app, host="127.0.0.1")) as client:
                yield client
        finally:
            await store.close()


async def until(happened: Callable[[], object], *, seconds: float = 60.0) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110 - what happens is in another server
            await asyncio.sleep(0.01)
