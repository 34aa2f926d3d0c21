"""The same over the Azure AI Search that runs here, as its settings have it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import aiohttp
import pytest

from tests.chaos.wiki import TOPICS
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.confluence.society import ADMIN
from tests.e2e.conftest import ROOT
from tests.faults.server import Client, Server
from tests.rag.models.embedding_server import embeds
from tests.rag.models.openai_server import KEY, openai_server
from tests.search_service.service import SearchService
from tests.syncing.follower import following, settings_for
from tests.syncing.story import Story
from tests.syncing.world import served

OPEN, CLOSED = TOPICS[0], TOPICS[1]


def azure(service: SearchService) -> dict[str, str]:
    return {"AZURE_SEARCH_ENDPOINT": service.url, "AZURE_SEARCH_KEY": service.access.admin_key}


@pytest.mark.slow
async def test_the_index_in_azure_follows_whatever_happens(tmp_path: Path) -> None:
    async with SearchService().serving() as service, served(seed=5, pages=20) as world:
        more = {"CONFLUENCE_EVERYONE_GROUPS": ",".join(world.everyone), **azure(service)}
        async with following(world.server, tmp_path, **more) as follower:
            story = Story(world, follower)
            await story.tell(events=30, queries=100, kills=False)
            await story.ends_well(tmp_path / "fresh.sqlite")


@dataclass
class Azure:
    """A wiki of which one page is closed, the service, and the settings that join them."""

    site: Site
    service: SearchService
    folder: Path
    settings: dict[str, str]

    async def ingest(self, *arguments: str) -> str:
        """Run ``python -m ingestion``, which goes well; return what it said."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ingestion", *arguments),
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.settings},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode()


@pytest.fixture
async def azured(tmp_path: Path) -> AsyncIterator[Azure]:
    site = Site()
    site.add_space("IT", anonymous=True)
    pages = {t: site.create("IT", t.title, f"<p>{t.fact}</p>").id for t in TOPICS}
    site.restrict(pages[CLOSED], users=[ADMIN])
    async with (
        LocalConfluence(site).serving() as wiki,
        SearchService().serving() as service,
        openai_server(embeds()) as vectors,
    ):
        settings = {
            **settings_for(wiki, tmp_path / "data"),
            **azure(service),
            "EMBEDDING_MODEL": "small",
            "EMBEDDING_BASE_URL": vectors.url,
            "EMBEDDING_API_KEY": KEY,
            "EMBEDDING_DIMENSIONS": "8",
        }
        yield Azure(site, service, tmp_path, settings)


@pytest.mark.slow
async def test_questions_are_answered_with_sources_also_while_all_is_rebuilt(azured: Azure) -> None:
    assert "10 added" in await azured.ingest("sync", "--all")
    bot = Server(azured.folder / "data", azured.settings)
    async with aiohttp.ClientSession() as session:
        client, keys = Client(session), count()

        async def ask(question: str) -> str:
            status, body = await client.ask(bot.url, question, f"azure-{next(keys)}")
            assert status == 200, body
            return str(body)

        try:
            await bot.start()
            answer = await ask(OPEN.question)
            assert OPEN.mark in answer
            assert "/wiki/spaces/IT/pages/" in answer
            assert CLOSED.mark not in await ask(CLOSED.question)
            rebuilding = asyncio.create_task(azured.ingest("rebuild"))
            while not rebuilding.done():
                assert OPEN.mark in await ask(OPEN.question)
                assert CLOSED.mark not in await ask(CLOSED.question)
            assert "In use is now" in await rebuilding
            assert OPEN.mark in await ask(OPEN.question)
            assert CLOSED.mark not in await ask(CLOSED.question)
        finally:
            await bot.kill()
