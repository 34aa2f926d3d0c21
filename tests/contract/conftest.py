"""The indexes under contract: each is a way to open one and the same store again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import pytest

from rag.index.embedded import fingerprint_of, open_index
from rag.ports import Embedder, Index, KnowsVocabulary
from tests.contract.pages import EMBEDDER


class ContractIndex(Index, KnowsVocabulary, Protocol):
    """What the contract speaks of."""


class OpenIndex(Protocol):
    """Opens the store once more, as another process would."""

    async def __call__(self, embedder: Embedder | None = EMBEDDER) -> ContractIndex: ...


Implementation = Callable[[Path, AsyncExitStack, Embedder | None], Awaitable[ContractIndex]]


async def _embedded(
    directory: Path, closing: AsyncExitStack, embedder: Embedder | None
) -> ContractIndex:
    index = await open_index(
        directory / "index.sqlite", fingerprint_of(embedder) if embedder else None
    )
    closing.push_async_callback(index.close)
    return index


IMPLEMENTATIONS: dict[str, Implementation] = {"embedded": _embedded}


@pytest.fixture(params=IMPLEMENTATIONS)
async def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenIndex]:
    implementation = IMPLEMENTATIONS[request.param]
    async with AsyncExitStack() as closing:

        async def open_once_more(embedder: Embedder | None = EMBEDDER) -> ContractIndex:
            return await implementation(tmp_path, closing, embedder)

        yield open_once_more


@pytest.fixture
async def index(open_again: OpenIndex) -> ContractIndex:
    return await open_again()
