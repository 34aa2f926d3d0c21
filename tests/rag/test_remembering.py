from __future__ import annotations

import numpy as np

from rag.embedding import CachingEmbedder
from tests.fakes import WordEmbedder


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


async def test_it_says_of_itself_what_the_other_says() -> None:
    inner = WordEmbedder()
    embedder = CachingEmbedder(inner)

    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("words@1", 64, 256)
    assert embedder.count_tokens("one two") == 2
    assert np.array_equal(await embedder.embed_query("one"), await inner.embed_query("one"))
    assert (await embedder.embed([])).shape == (0, 64)
