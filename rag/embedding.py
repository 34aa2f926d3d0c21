"""Embed questions and chunks with any embedder, with token vectors and a cache of vectors.

Ingestion counts the tokens of the same text that is embedded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rag.ports import Embedder, EmbedsTokens
from rag.types import BoundedDict, Chunk, TokenSigns, Vectors

_LONG_URL = re.compile(r"https?://[^\s<>()\[\]\"']{33,}")


def embedding_text(chunk: Chunk) -> str:
    """Return the text of a chunk to embed: breadcrumb and text, without long URLs."""
    breadcrumb = " > ".join(chunk.breadcrumb)
    text = without_long_urls(chunk.text)
    return f"{breadcrumb}\n{text}" if breadcrumb else text


def without_long_urls(text: str) -> str:
    """Return a text as it is embedded.

    A URL of more than about 40 characters costs dozens of tokens and carries hardly any meaning.
    """
    return _LONG_URL.sub("", text)


def word_test(embedder: Embedder | None) -> Callable[[str], bool] | None:
    """Return whether a word is common English: one that the installed embedder does not split."""
    if embedder is None:
        return None
    count_tokens = embedder.count_tokens
    return lambda word: count_tokens(word) == 1


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """The embedding of a searched question, as it is recorded.

    ``values`` are its 16-bit floats (little-endian) in base64: cosines differ from those of 32-bit
    floats by less than .001. Vectors of different embedders can't be compared.
    """

    embedder: str
    values: str

    @classmethod
    def of(cls, embedder: str, vector: Vectors) -> QuestionVector:
        """Return a vector of shape (dimensions,) as it is recorded."""
        return cls(embedder, base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii"))

    def unit(self) -> Vectors:
        """Return the vector at unit length, shape (dimensions,). Raises ValueError if damaged."""
        vector = np.frombuffer(base64.b64decode(self.values, validate=True), "<f2")
        length = float(np.linalg.norm(vector.astype(np.float32)))
        if not length or not np.isfinite(length):
            raise ValueError("The recorded vector of a question has no direction.")
        return (vector.astype(np.float32) / length).astype(np.float32)


async def embed_question(
    embedder: Embedder | None, text: str
) -> tuple[Vectors | None, Vectors | None]:
    """Return the vector of a question and those of its tokens; None for those not available."""
    if embedder is None:
        return None, None
    if isinstance(embedder, EmbedsTokens):
        return await embedder.embed_query_tokens(text)
    return await embedder.embed_query(text), None


async def embed_texts(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[Vectors, Sequence[TokenSigns] | None]:
    """Return the vectors of texts, and their token signs if the embedder computes them."""
    if isinstance(embedder, EmbedsTokens):
        return await embedder.embed_tokens(texts)
    return await embedder.embed(texts), None


class CachingEmbedder:
    """Cache the vectors of another embedder, least recently used out. Implements `Embedder`.

    Only texts are cached: sentences of popular pages are embedded again and again, queries rarely.

    Args:
        embedder: embeds the texts that are not cached.
        capacity: the most vectors cached; 20,000 of 384 numbers take about 30 MB.
    """

    def __init__(self, embedder: Embedder, capacity: int = 20_000) -> None:
        self._embedder = embedder
        self._kept = BoundedDict[str, Vectors](capacity)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return await self._embedder.embed_query(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, await self._embedder.embed(new), strict=True))
        for text in texts:
            self._kept[text] = known[text]
        return np.stack([known[text] for text in texts])
