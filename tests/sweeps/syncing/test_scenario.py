"""An index follows a changing wiki, whatever fails, in the embedded store and in Azure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import aiohttp
import pytest

from rag.types import EVERYONE
from tests.fakes.confluence.faults import unavailable
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.model_server import KEY, embeds, openai_server
from tests.fakes.search_service.service import SearchService
from tests.sweeps.chaos.questions import TOPICS
from tests.sweeps.faults.server import Client, Server
from tests.sweeps.sizes import SWEEP, sizes
from tests.sweeps.syncing.changing_wiki import served
from tests.sweeps.syncing.follower import TENANT, Follower, following, ingest, settings_for
from tests.sweeps.syncing.removal_delay import BEYOND_SECONDS, INTERVAL_SECONDS, measure
from tests.sweeps.syncing.scenario import Scenario


@dataclass(frozen=True)
class Told:
    """How much happens in a story, and to which wiki."""

    seed: int
    edition: Edition = "cloud"
    pages: int = 30
    events: int = 40
    queries: int = 200
    kills: bool = False


STORIES = {
    "whole, with kills": Told(1, kills=True),
    "whole, data center": Told(2, "data-center"),
    "whole, cloud": Told(3),
    "long": Told(4, pages=60, events=200, queries=1_000, kills=True),
}


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(Told(2, "data-center", pages=12, events=12, queries=60), id="smoke"),
        *(pytest.param(each, id=name, marks=SWEEP) for name, each in STORIES.items()),
    ],
)
async def test_the_index_follows_whatever_happens(told: Told, tmp_path: Path) -> None:
    await goes_well(told, tmp_path)


async def goes_well(told: Told, folder: Path, **settings: str) -> None:
    async with served(seed=told.seed, edition=told.edition, pages=told.pages) as world:
        more = {"CONFLUENCE_EVERYONE_GROUPS": ",".join(world.everyone), **settings}
        async with following(world.server, folder, **more) as follower:
            story = Scenario(world, follower)
            await story.tell(events=told.events, queries=told.queries, kills=told.kills)
            await story.ends_well(folder / "fresh.sqlite")


async def texts(follower: Follower, page: str) -> list[str]:
    """Return what everyone is shown of a page."""
    chunks = await follower.index.page(TENANT, "IT", page, frozenset({EVERYONE}))
    return [chunk.text for chunk in chunks]


async def test_a_text_is_never_shown_to_those_whom_only_the_next_one_is_for(tmp_path: Path) -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    page = site.create("IT", "Rescue", "<p>The code is zirconium.</p>").id
    site.restrict(page, users=[ADMIN])
    async with (
        LocalConfluence(site).serving() as server,
        following(server, tmp_path) as follower,
    ):
        await follower.ended(await follower.start("IT"))
        assert await texts(follower, page) == []
        site.edit(page, "<p>The code is with the desk.</p>")
        site.unrestrict(page)
        server.faults.fail_always("page", unavailable())

        await follower.ended(await follower.start("IT"))

        assert await texts(follower, page) == []
        server.faults.clear()
        await follower.ended(await follower.start("IT"))
        assert await texts(follower, page) == ["The code is with the desk."]


async def test_with_the_last_check_what_is_gone_or_closed_is_forgotten_at_once(
    tmp_path: Path,
) -> None:
    assert set((await measure(tmp_path, last_check=True)).values()) == {0.0}


@pytest.mark.sweep
@pytest.mark.timeout(900)
async def test_what_is_gone_or_closed_is_forgotten_within_an_interval_and_a_minute(
    tmp_path: Path,
) -> None:
    """In small: the stories, which look at everything now and then."""
    found = await measure(tmp_path, last_check=False)

    assert max(found.values()) <= INTERVAL_SECONDS + BEYOND_SECONDS


OPEN, CLOSED = TOPICS[0], TOPICS[1]


def azure(service: SearchService) -> dict[str, str]:
    return {"AZURE_SEARCH_ENDPOINT": service.url, "AZURE_SEARCH_KEY": service.access.admin_key}


@sizes(
    "told",
    smoke=Told(5, pages=10, events=8, queries=30),
    whole=Told(5, pages=20, events=30, queries=100),
)
async def test_the_index_in_azure_follows_whatever_happens(told: Told, tmp_path: Path) -> None:
    async with SearchService().serving() as service:
        await goes_well(told, tmp_path, **azure(service))


@dataclass
class Azure:
    """A wiki of which one page is closed, the service, and the settings that join them."""

    site: Site
    service: SearchService
    folder: Path
    settings: dict[str, str]

    async def ingest(self, *arguments: str) -> str:
        """Run ``python -m ingestion``, which goes well; return what it said."""
        ended = await ingest(self.folder, self.settings, *arguments)
        assert ended.code == 0, ended.said
        return ended.said


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


async def test_questions_are_answered_with_sources_also_while_all_is_rebuilt(azured: Azure) -> None:
    assert "10 added" in await azured.ingest("sync", "--all")
    bot = Server(azured.folder / "data", azured.settings, plain=False)
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
