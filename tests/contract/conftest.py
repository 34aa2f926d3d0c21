"""The indexes under contract: each is a way to open one and the same store again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from rag.index.embedded.index import fingerprint_of, open_index
from rag.ports import Embedder, SearchIndex
from tests.fakes.azure_index import open_test_index
from tests.fakes.passages import EMBEDDER
from tests.fakes.search_service.service import SearchService


class OpenIndex(Protocol):
    """Opens the store once more, as another process would."""

    async def __call__(self, embedder: Embedder | None = EMBEDDER) -> SearchIndex: ...


Store = Callable[[Path], AbstractAsyncContextManager[OpenIndex]]


@asynccontextmanager
async def _embedded(directory: Path) -> AsyncIterator[OpenIndex]:
    async with AsyncExitStack() as closing:

        async def open_once_more(embedder: Embedder | None = EMBEDDER) -> SearchIndex:
            expected = fingerprint_of(embedder) if embedder else None
            index = await open_index(directory / "index.sqlite", expected)
            closing.push_async_callback(index.close)
            return index

        yield open_once_more


@asynccontextmanager
async def _azure(
    _: Path, *, takes_text_ranges: bool = True, keeps_inflections: bool = False
) -> AsyncIterator[OpenIndex]:
    async with AsyncExitStack() as closing:
        service = SearchService(takes_text_ranges=takes_text_ranges)
        service.indexes.keeps_inflections = keeps_inflections
        await closing.enter_async_context(service.serving())

        async def open_once_more(embedder: Embedder | None = EMBEDDER) -> SearchIndex:
            return await closing.enter_async_context(open_test_index(service, embedder))

        yield open_once_more


IMPLEMENTATIONS: dict[str, Store] = {"embedded": _embedded, "azure": _azure}

LISTING: dict[str, Store] = {
    **IMPLEMENTATIONS,
    "azure without ranges of texts": partial(_azure, takes_text_ranges=False),
}
"""Those that what lists is tried with, which is all that ranges are for."""

SPELLING: dict[str, Store] = {
    **IMPLEMENTATIONS,
    "azure with inflected words": partial(_azure, keeps_inflections=True),
}
"""Those that words are looked up in: what fuzzy terms are compared with is not documented."""

REPLACES_AT_ONCE = frozenset({"embedded"})
"""Those that show a page's old chunks or its new ones, never some of each: a promise of
``upsert_page`` that a store without transactions can't keep."""


@pytest.fixture(params=IMPLEMENTATIONS)
async def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenIndex]:
    if request.node.get_closest_marker("replaces_at_once") and request.param not in (
        REPLACES_AT_ONCE
    ):
        pytest.skip(f"The index {request.param!r} has no transactions.")
    async with IMPLEMENTATIONS[request.param](tmp_path) as open_once_more:
        yield open_once_more


@pytest.fixture
async def index(open_again: OpenIndex) -> SearchIndex:
    return await open_again()
