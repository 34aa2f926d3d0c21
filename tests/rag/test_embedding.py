from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rag.embedding import embed_question, embed_texts, store_page
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.types import EVERYONE, Question, TokenSigns, Vectors
from tests.contract.pages import draft
from tests.fakes import WordEmbedder


class TokenEmbedder(WordEmbedder):
    """Gives each word of a text a token."""

    async def embed_query_tokens(self, text: str) -> tuple[Vectors, Vectors]:
        return self._vector(text), np.stack([self._vector(word) for word in text.split()])

    async def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        tokens = [np.stack([self._vector(word) for word in text.split()]) for text in texts]
        return await self.embed(texts), tuple(np.packbits(one > 0, axis=1) for one in tokens)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(WordEmbedder()))
    yield index
    await index.close()


@pytest.mark.parametrize("embedder", [WordEmbedder(), TokenEmbedder()], ids=["plain", "tokens"])
async def test_tokens_are_compared_when_the_embedder_gives_them(
    index: EmbeddedIndex, embedder: WordEmbedder
) -> None:
    page = draft("vpn", "VPN token")
    vectors, tokens = await embed_texts(embedder, page.texts)
    await store_page(index, page.page, page.chunks, vectors, tokens)

    vector, question_tokens = await embed_question(embedder, "VPN token")
    question = Question("VPN token", "acme", vector, tokens=question_tokens)
    (passage,) = await index.search(question, frozenset({EVERYONE}), 5)

    assert passage.signals["vector"] == pytest.approx(1.0)
    assert ("tokens" in passage.signals) == isinstance(embedder, TokenEmbedder)


async def test_without_an_embedder_there_is_nothing_to_compare(index: EmbeddedIndex) -> None:
    page = draft("vpn", "VPN token")
    await store_page(index, page.page, page.chunks, None, None)

    assert await embed_question(None, "VPN token") == (None, None)
    (passage,) = await index.search(Question("VPN", "acme"), frozenset({EVERYONE}), 5)
    assert "vector" not in passage.signals
