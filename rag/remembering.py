"""An embedder that remembers: the same text is embedded once while it is in use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from rag.ports import Embedder
from rag.types import Vectors


class RememberingEmbedder:
    """Implements Embedder by another one; keeps the vectors of the texts used last.

    Sentences of the pages that people ask about come up again and again; a query does not.

    Args:
        embedder: what embeds a text that is not remembered.
        capacity: how many vectors are kept; 20,000 of 384 numbers take about 30 MB.
    """

    def __init__(self, embedder: Embedder, capacity: int = 20_000) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

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
        self._remember({text: known[text] for text in texts})
        return np.stack([known[text] for text in texts])

    def _remember(self, used: dict[str, Vectors]) -> None:
        for text, vector in used.items():
            self._kept[text] = vector
            self._kept.move_to_end(text)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
