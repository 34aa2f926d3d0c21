"""The sample company makes room for one's own pages, and readiness tells the truth."""

from __future__ import annotations

from pathlib import Path

from bot.app.components import Components, open_components, status
from bot.app.documents import reindex_sample
from rag.types import Page
from tests.bot.server import settings_for
from tests.builders import ALL, chunk
from tests.rag.models.openai_server import KEY, fails, openai_server
from tests.search_service.service import SearchService


async def put(parts: Components, space: str) -> None:
    page = Page("default", space, "vpn.md", "1", ALL)
    await parts.index.upsert_page(page, [chunk("Text.", chunk_id=space, space=space)], None)


async def test_the_sample_goes_once_pages_of_ones_own_are_indexed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        await put(parts, "SAMPLE-IT")
        await put(parts, "OURS")

        (said,) = await reindex_sample(settings, parts)

        assert dict(await parts.index.spaces("default")) == {"OURS": 1}
    assert "OURS is indexed. Its 1 pages are removed." in said


async def test_an_index_that_cannot_be_read_is_told_as_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        await parts.index.close()

        states = {part.name: part.state for part in await status(settings, parts)}

    assert states["knowledge"] == "failed"


async def test_a_fresh_installation_has_nothing_that_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_components(settings) as parts:
        assert "failed" not in {part.state for part in await status(settings, parts)}


async def test_the_sample_is_not_written_without_the_vectors_that_are_wanted(
    tmp_path: Path,
) -> None:
    async with openai_server(fails(401)) as server:
        settings = settings_for(
            tmp_path, embedding_model="small", embedding_base_url=server.url, embedding_api_key=KEY
        )
        async with open_components(settings, fills=True) as parts:
            (said,) = await reindex_sample(settings, parts)

            assert dict(await parts.index.spaces("default")) == {}
    assert "left as it is" in said
    assert "EMBEDDING_API_KEY" in said


async def test_the_sample_goes_into_an_index_in_azure_as_well(tmp_path: Path) -> None:
    async with SearchService().serving() as service:
        settings = settings_for(
            tmp_path,
            azure_search_endpoint=service.url,
            azure_search_key=service.access.admin_key,
        )
        async with open_components(settings, fills=True) as parts:
            lines = await reindex_sample(settings, parts)

            assert set(await parts.index.spaces("default")) == {"SAMPLE-IT", "SAMPLE-HR"}
    assert not [line for line in lines if line.startswith(("Failed", "Warning"))]
