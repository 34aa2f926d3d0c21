"""Tests that a whole server follows a wiki by itself, and goes on where it was killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.app.build import build
from bot.app.components import open_components
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.config import load_settings
from ingestion.runs.schedule import Cadence
from rag.index.embedded.index import open_index
from rag.ports import SearchIndex
from rag.types import EVERYONE
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.model_server import KEY, embeds, openai_server, texts_of
from tests.fork_server import ROOT, Programme, Running, started
from tests.sweeps.syncing.follower import TENANT, environment, settings_for

MANY = 90


def wiki(pages: int) -> Site:
    site = Site()
    site.add_space("IT", anonymous=True)
    site.add_space("HR", anonymous=True)
    for number in range(pages):
        words = " ".join(f"word{number}n{each}" for each in range(40))
        site.create("IT", f"Page {number}", f"<p>marker{number}end {words}</p>")
    site.pass_time(7200)
    return site


async def until(happened: Callable[[], Awaitable[object]], seconds: float = 80) -> None:
    async with asyncio.timeout(seconds):
        while not await happened():  # noqa: ASYNC110 - what happens is in another server
            await asyncio.sleep(0.05)


@asynccontextmanager
async def served(data_dir: Path) -> AsyncIterator[SearchIndex]:
    """Serve with what the environment names, and yield the server's own index."""
    settings = Settings(_env_file=None, data_dir=data_dir, tenant=TENANT)
    async with open_components(settings) as parts:
        store = await open_store(sqlite_url(data_dir))
        try:
            app = build(settings, parts, store, MemoryEngine(), ingestion=load_settings())
            async with TestClient(TestServer(app, host="127.0.0.1")):
                yield parts.index
        finally:
            await store.close()


async def test_new_changed_moved_deleted_and_restricted_pages_are_seen_without_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.assembly.MAINTENANCE_SECONDS", 0.2)
    monkeypatch.setattr("bot.app.documents.cadence_of", lambda _: Cadence(changes=0.5, whole=1.0))
    site = wiki(6)
    changed, moved, deleted, restricted = [page.id for page in site.current()][:4]
    async with LocalConfluence(site, "cloud").serving() as server:
        with environment(settings_for(server, tmp_path)):
            async with served(tmp_path) as index:

                async def pages(space: str = "IT") -> set[str]:
                    return set(await index.pages(TENANT, space))

                async def says(words: str) -> bool:
                    chunks = await index.page(TENANT, "IT", changed, frozenset({EVERYONE}))
                    return any(words in chunk.text for chunk in chunks)

                async def is_hidden() -> bool:
                    held = (await index.pages(TENANT, "IT"))[restricted]
                    return all(EVERYONE not in layer for layer in held.readers[:1]) or not all(
                        EVERYONE in layer for layer in held.readers
                    )

                async def all_seen() -> bool:
                    there = await pages()
                    return (
                        new.id in there
                        and deleted not in there
                        and moved not in there
                        and moved in await pages("HR")
                        and await says("quite other words")
                        and await is_hidden()
                    )

                async def are_six() -> bool:
                    return len(await pages()) == 6

                await until(are_six)
                assert not await is_hidden()
                new = site.create("IT", "News", "<p>Fresh.</p>")
                site.edit(changed, "<p>Now quite other words.</p>")
                site.move(moved, None, space="HR")
                site.trash(deleted)
                site.restrict(restricted, users=[ADMIN])

                await until(all_seen)
    assert site.unexpected == []


async def test_a_server_that_is_killed_goes_on_and_embeds_no_finished_page_again(
    tmp_path: Path,
) -> None:
    site = wiki(MANY)
    async with (
        LocalConfluence(site, "cloud").serving() as server,
        openai_server(slowly(embeds())) as vectors,
    ):
        names = {
            **settings_for(server, tmp_path),
            "EMBEDDING_MODEL": "small",
            "EMBEDDING_BASE_URL": vectors.url,
            "EMBEDDING_API_KEY": KEY,
            "EMBEDDING_DIMENSIONS": "8",
        }
        first = await serve(names, tmp_path)
        await until(lambda: is_begun(tmp_path))
        os.killpg(first.pid, signal.SIGKILL)
        await first.wait()
        finished = await until_still(tmp_path)
        before = len(vectors.seen)

        second = await serve(names, tmp_path)
        try:
            await until(lambda: is_complete(tmp_path))
        finally:
            second.terminate()
            await second.wait()

    again = " ".join(text for one in vectors.seen[before:] for text in texts_of(one.body))
    assert 0 < len(finished) < MANY
    assert [title for title in finished if f"marker{title}end" in again] == []
    assert site.unexpected == []


def slowly(
    answer: Callable[..., Awaitable[web.StreamResponse]],
) -> Callable[[web.Request, dict[str, object]], Awaitable[web.StreamResponse]]:
    async def answered(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        await asyncio.sleep(0.5)
        return await answer(request, body)

    return answered


async def serve(names: dict[str, str], data_dir: Path) -> Running:
    variables = {**os.environ, **names, "PORT": "0", "PYTHONPATH": str(ROOT)}
    with (data_dir / "server.log").open("ab") as log:
        return await started(
            Programme(("bot", "serve"), variables, data_dir, leads=True), stderr=log
        )


async def is_begun(data_dir: Path) -> bool:
    return len(await indexed(data_dir)) > 0


async def is_complete(data_dir: Path) -> bool:
    return len(await indexed(data_dir)) == MANY


async def until_still(data_dir: Path) -> list[int]:
    """Wait until the worker of a killed server is gone; return the numbers of finished pages."""
    while (before := await indexed(data_dir)) != await later(data_dir):
        pass
    return before


async def later(data_dir: Path) -> list[int]:
    await asyncio.sleep(1)
    return await indexed(data_dir)


async def indexed(data_dir: Path) -> list[int]:
    if not (data_dir / "index.sqlite").exists():
        return []
    index = await open_index(data_dir / "index.sqlite", None)
    try:
        found = await index.page_summaries(TENANT, "IT", None, words="", after="", limit=1000)
    finally:
        await index.close()
    return sorted(int(page.title.split()[-1]) for page in found if page.chunks)
