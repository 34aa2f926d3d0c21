"""Tests of what became of quotes, by a real index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from bot.answering.permitted_views import CitedQuote, QuoteCheck
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.ports import SearchIndex
from rag.types import EVERYONE, Chunk, Page, Principal, Readers
from tests.fakes.builders import ALL, chunk

HR: Readers = (frozenset({Principal("group:hr")}),)
IN_HR = frozenset({EVERYONE, Principal("group:hr")})
COLLEAGUE = frozenset({EVERYONE})
QUOTE = CitedQuote("IT", "vpn.md", "vpn-0", "UDP 500 is blocked.", public=True)
OLDER = replace(QUOTE, space="")
PAY = CitedQuote("HR", "pay.md", "pay-0", "Pay rises in May.", public=False)


class Counting:
    """An index that can't be asked for chunks, and notes which pages were read."""

    def __init__(self, index: EmbeddedIndex) -> None:
        self.spaces = index.spaces
        self.page_summary = index.page_summary
        self._index = index
        self.read: list[str] = []

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        self.read.append(page_id)
        return await self._index.page(tenant, space, page_id, readers)


async def put(index: EmbeddedIndex, quoted: CitedQuote, text: str, readers: Readers) -> None:
    page = Page("default", quoted.space, quoted.page_id, text, readers)
    part = chunk(
        text,
        chunk_id=f"{quoted.chunk_id}-{len(text)}",
        page_id=quoted.page_id,
        space=quoted.space,
        readers=readers,
    )
    await index.upsert_page(page, [part], None)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    await put(opened, QUOTE, "Error 809: UDP 500 is blocked.", ALL)
    await put(opened, PAY, "Pay rises in May.", HR)
    yield opened
    await opened.close()


async def fate(
    index: EmbeddedIndex, quoted: CitedQuote, reader: frozenset[Principal] = COLLEAGUE
) -> str:
    by_chunk = await QuoteCheck(index, "default", reader).fates([quoted])
    by_page = await QuoteCheck(cast("SearchIndex", Counting(index)), "default", reader).fates(
        [quoted]
    )
    assert by_chunk == by_page
    return by_chunk[quoted]


@pytest.mark.parametrize("quoted", [QUOTE, OLDER])
async def test_a_public_quote_is_there_changed_restricted_or_gone(
    index: EmbeddedIndex, quoted: CitedQuote
) -> None:
    assert await fate(index, quoted) == "there"
    await put(index, QUOTE, "In another chunk now: UDP 500 is blocked. More.", ALL)
    assert await fate(index, quoted) == "there"
    await put(index, QUOTE, "UDP 4500 is blocked.", ALL)
    assert await fate(index, quoted) == "changed"
    await index.set_readers("default", "IT", "vpn.md", HR)
    assert await fate(index, quoted) == "restricted"
    assert await fate(index, quoted, IN_HR) == "restricted"
    await index.delete_pages("default", "IT", ["vpn.md"])
    assert await fate(index, quoted) == "gone"


async def test_a_private_quote_is_judged_by_those_alone_who_may_read_its_page(
    index: EmbeddedIndex,
) -> None:
    assert await fate(index, PAY, IN_HR) == "there"
    assert await fate(index, PAY) == "unknown"
    await put(index, PAY, "Pay rises in June.", HR)
    assert await fate(index, PAY, IN_HR) == "changed"
    assert await fate(index, PAY) == "unknown"


async def test_a_page_is_read_once_however_often_it_is_quoted(index: EmbeddedIndex) -> None:
    counting = Counting(index)
    check = QuoteCheck(cast("SearchIndex", counting), "default", COLLEAGUE)

    await check.fates([QUOTE, replace(QUOTE, quote="Error 809"), replace(QUOTE, quote="nowhere")])
    await check.fates([replace(QUOTE, quote="UDP")])

    assert counting.read == ["vpn.md"]
