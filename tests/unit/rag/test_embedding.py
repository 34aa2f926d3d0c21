"""Embedding questions, texts and pages, and the cache of vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag.embedding import CachingEmbedder, embed_question, embed_texts, embedding_text
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.types import EVERYONE, Chunk, Question, TokenSigns, Vectors
from tests.fakes import builders
from tests.fakes.passages import draft
from tests.fakes.rag_ports import WordEmbedder


def chunk(text: str, breadcrumb: tuple[str, ...] = ("IT", "VPN")) -> Chunk:
    return replace(builders.chunk(text), breadcrumb=breadcrumb)


def test_breadcrumb_comes_before_the_text() -> None:
    assert embedding_text(chunk("Restart the client.")) == "IT > VPN\nRestart the client."


def test_text_stands_alone_without_a_breadcrumb() -> None:
    assert embedding_text(chunk("Restart.", breadcrumb=())) == "Restart."


def test_long_urls_are_left_out_and_short_ones_kept() -> None:
    text = f"See [guide](https://example.org/{'x' * 60}) or https://example.org/vpn now."

    assert embedding_text(chunk(text)) == "IT > VPN\nSee [guide]() or https://example.org/vpn now."


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
    await index.upsert_page(page.page, page.chunks, vectors, tokens)

    vector, question_tokens = await embed_question(embedder, "VPN token")
    question = Question("VPN token", "acme", vector, tokens=question_tokens)
    (passage,) = await index.search(question, frozenset({EVERYONE}), 5)

    assert passage.signals["vector"] == pytest.approx(1.0)
    assert ("tokens" in passage.signals) == isinstance(embedder, TokenEmbedder)


async def test_without_an_embedder_there_is_nothing_to_compare(index: EmbeddedIndex) -> None:
    page = draft("vpn", "VPN token")
    await index.upsert_page(page.page, page.chunks, None)

    assert await embed_question(None, "VPN token") == (None, None)
    (passage,) = await index.search(Question("VPN", "acme"), frozenset({EVERYONE}), 5)
    assert "vector" not in passage.signals


async def test_the_same_text_is_embedded_once() -> None:
    inner = WordEmbedder()
    embedder = CachingEmbedder(inner)

    first = await embedder.embed(["one", "two", "one"])
    again = await embedder.embed(["two", "three"])

    assert inner.embedded == 3
    assert np.array_equal(first, await inner.embed(["one", "two", "one"]))
    assert np.array_equal(again, await inner.embed(["two", "three"]))


async def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    inner = WordEmbedder()
    embedder = CachingEmbedder(inner, capacity=2)

    await embedder.embed(["one", "two"])
    await embedder.embed(["one"])
    await embedder.embed(["three"])
    await embedder.embed(["one"])
    assert inner.embedded == 3

    await embedder.embed(["two"])
    assert inner.embedded == 4


async def test_more_texts_at_once_than_can_be_kept_are_all_embedded() -> None:
    found = await CachingEmbedder(WordEmbedder(), capacity=1).embed(["one", "two", "three"])

    assert found.shape == (3, 64)


async def test_the_cache_reports_the_name_and_size_of_the_embedder_behind_it() -> None:
    inner = WordEmbedder()
    embedder = CachingEmbedder(inner)

    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("words@1", 64, 256)
    assert embedder.count_tokens("one two") == 2
    assert np.array_equal(await embedder.embed_query("one"), await inner.embed_query("one"))
    assert (await embedder.embed([])).shape == (0, 64)
