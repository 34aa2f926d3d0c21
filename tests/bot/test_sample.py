"""The sample company makes room for one's own pages, and readiness tells the truth."""

from __future__ import annotations

from pathlib import Path

from bot.app import reindex_sample, status
from bot.parts import Parts, open_parts
from rag.types import Page
from tests.bot.server import settings_for
from tests.builders import ALL, chunk


async def put(parts: Parts, space: str) -> None:
    page = Page("default", space, "vpn.md", "1", ALL)
    await parts.index.upsert_page(page, [chunk("Text.", chunk_id=space, space=space)], None)


async def test_the_sample_goes_once_pages_of_ones_own_are_indexed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_parts(settings) as parts:
        await put(parts, "SAMPLE-IT")
        await put(parts, "OURS")

        (said,) = await reindex_sample(settings, parts)

        assert dict(await parts.index.spaces("default")) == {"OURS": 1}
    assert "OURS is indexed. Its 1 pages are removed." in said


async def test_an_index_that_cannot_be_read_is_told_as_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_parts(settings) as parts:
        await parts.index.close()

        states = {part.name: part.state for part in await status(settings, parts)}

    assert states["knowledge"] == "failed"


async def test_a_fresh_installation_has_nothing_that_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with open_parts(settings) as parts:
        assert "failed" not in {part.state for part in await status(settings, parts)}
