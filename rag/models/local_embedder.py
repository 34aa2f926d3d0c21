"""Local embedder: all-MiniLM-L6-v2 (int8) on onnxruntime, in threads, without network access."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from rag.models.mapped_model import open_session
from rag.models.model_files import TOKENIZER, WEIGHTS, find_model_file
from rag.types import BoundedDict, TokenSigns, Vectors

DIMENSIONS = 384
MAX_TOKENS = 254
"""The length that the model was trained with (256) minus [CLS] and [SEP]."""

_MAX_CHARACTERS = 32_000
"""Texts are cut here before the tokenizer, which would take long for huge ones."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The model's output for a text: ids and vectors of its tokens, with [CLS] and [SEP]."""

    ids: NDArray[np.int64]
    states: Vectors

    def vector(self) -> Vectors:
        """Return the mean of the token vectors at unit length, shape (DIMENSIONS,)."""
        return _unit(self.states.mean(axis=0))

    def tokens(self) -> Vectors:
        """Return the unit-length token vectors, without those of [CLS] and [SEP]."""
        return _unit(self.states[1:-1])

    def token_signs(self) -> TokenSigns:
        """Return the signs of the distinct tokens' mean vectors: 48 bytes per token.

        Measured: they rank passages as well as the vectors themselves, at 1/32 of the size.
        """
        order = np.argsort(self.ids, kind="stable")
        first = np.diff(self.ids[order], prepend=-1) > 0
        sums = self.states[order[first]]
        # Most tokens occur once; np.add.at would be slower than a loop over the few others.
        again = np.flatnonzero(~first)
        rows = np.cumsum(first)[again] - 1
        for row, place in zip(rows.tolist(), order[again].tolist(), strict=True):
            sums[row] += self.states[place]
        signs: TokenSigns = np.packbits(sums > 0, axis=1)
        return signs


WORDS_KEPT = 16_384
"""If there are more, all are forgotten."""

_LONGEST_KEPT = 32
"""Characters; longer words are keys or pasted text, which hardly ever come again."""


class WordTokenizer:
    """A BERT tokenizer that remembers the tokens of words; thread-safe.

    Ingestion counts the tokens of a text before it is embedded, and most words of a text have
    occurred before.
    """

    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._kept: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, without marks such as [CLS].

        Texts are split only at spaces and line breaks, which no token spans. Other white space may
        be a control character to the tokenizer, which joins what is around it.
        """
        words = text.replace("\n", " ").split(" ")
        kept = [self._kept.get(word) for word in words]
        missing = dict.fromkeys(w for w, ids in zip(words, kept, strict=True) if ids is None)
        new = self._tokenized([*missing])
        of_words = (
            new[word] if ids is None else ids for word, ids in zip(words, kept, strict=True)
        )
        return [*chain.from_iterable(of_words)]

    def mark(self, token: str) -> int:
        """Return the id of a mark such as [CLS]."""
        mark = self._tokenizer.token_to_id(token)
        if mark is None:
            raise ValueError(f"The tokenizer has no {token!r}; it is not the one of this network.")
        return int(mark)

    def _tokenized(self, words: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
        """Return the ids of new words, and keep them."""
        if not words:
            return {}
        encoded = self._tokenizer.encode(_well_formed(" ".join(words)), add_special_tokens=False)
        starts = [start for start, _ in encoded.offsets]
        ends = accumulate(len(word) + 1 for word in words)
        bounds = pairwise([0, *(bisect_left(starts, end) for end in ends)])
        ids = encoded.ids
        new = {word: tuple(ids[a:b]) for word, (a, b) in zip(words, bounds, strict=True)}
        self._kept.update((word, new[word]) for word in new if len(word) <= _LONGEST_KEPT)
        if len(self._kept) > WORDS_KEPT:
            self._kept.clear()
        return new


def _well_formed(text: str) -> str:
    """Replace lone surrogates (from broken JSON), which the tokenizer rejects."""
    return text.encode(errors="replace").decode()


class MiniLM:
    """The ONNX model and its tokenizer; thread-safe.

    Texts are not batched: int8 quantization scales each tensor by its extremes, so that a text's
    vector would depend on the rest of its batch; and batches are no faster on a CPU (measured:
    sizes 1, 2 and 4 alike, 16 slower, at three times the memory).
    """

    def __init__(self, weights: Path, tokenizer: Path, cache: Path | None = None) -> None:
        self._tokenizer = WordTokenizer(tokenizer)
        self._start = self._tokenizer.mark("[CLS]")
        self._end = self._tokenizer.mark("[SEP]")
        self._session = open_session(weights, cache, fingerprint=WEIGHTS.sha256[:16])

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, without [CLS] and [SEP]; counts are additive."""
        return len(self._tokenizer.ids(text))

    def read(self, text: str) -> TokenVectors:
        """Run the model on a text, truncated to MAX_TOKENS."""
        seen = self._tokenizer.ids(text[:_MAX_CHARACTERS])[:MAX_TOKENS]
        ids = np.array([[self._start, *seen, self._end]], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (states,) = self._session.run(None, inputs)
        return TokenVectors(ids[0], np.asarray(states[0], dtype=np.float32))


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


QUESTIONS_KEPT = 16
"""The number of recent questions whose vectors are cached: router, search and composer embed the
same."""

_VectorAndTokens = tuple[Vectors, TokenSigns]
_NO_TOKENS: TokenSigns = np.zeros((0, DIMENSIONS // 8), dtype=np.uint8)


class LocalEmbedder:
    """Embeds texts and queries in threads. Implements `Embedder` and `EmbedsTokens`.

    Callers share ``threads`` threads for texts fairly; queries have one thread of their own, so
    that a query never waits for texts.
    """

    name = f"all-MiniLM-L6-v2-int8@{WEIGHTS.sha256[:8]}"
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS

    def __init__(self, network: MiniLM, threads: int = 2) -> None:
        self._network = network
        self._recent = BoundedDict[str, tuple[Vectors, Vectors]](QUESTIONS_KEPT)
        self._lanes = threads + 1
        self._texts = ThreadPoolExecutor(threads, thread_name_prefix="embed-texts")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="embed-query")

    def count_tokens(self, text: str) -> int:
        return self._network.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        vector, _ = await self.embed_query_tokens(text)
        return vector

    async def embed_query_tokens(self, text: str) -> tuple[Vectors, Vectors]:
        recent = self._recent.get(text)
        if recent is not None:
            return recent
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, self._embed_query, text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors, _ = await self._embed(texts, _vector_alone)
        return vectors

    async def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        return await self._embed(texts, _vector_and_tokens)

    def _embed_query(self, text: str) -> tuple[Vectors, Vectors]:
        """Return the vectors of a query, of one that had to wait for the same query's as well."""
        recent = self._recent.get(text)
        if recent is None:
            reading = self._network.read(text)
            recent = self._recent[text] = reading.vector(), reading.tokens()
            for shared in recent:
                shared.setflags(write=False)
        return recent

    async def _embed(
        self, texts: Sequence[str], take: Callable[[TokenVectors], _VectorAndTokens]
    ) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        taken: list[_VectorAndTokens | None] = [None] * len(texts)
        pending = iter(enumerate(texts))

        async def lane() -> None:
            """Queue one text at a time, so that callers take turns in the executor."""
            loop = asyncio.get_running_loop()
            for row, text in pending:
                work = partial(self._take, text, take)
                taken[row] = await loop.run_in_executor(self._texts, work)

        async with asyncio.TaskGroup() as lanes:
            for _ in range(min(self._lanes, len(texts))):
                lanes.create_task(lane())
        return _stacked([one for one in taken if one is not None])

    def _take(
        self, text: str, take: Callable[[TokenVectors], _VectorAndTokens]
    ) -> _VectorAndTokens:
        return take(self._network.read(text))

    def close(self) -> None:
        """Stop the threads after their running work."""
        self._texts.shutdown()
        self._queries.shutdown()


def _vector_alone(reading: TokenVectors) -> _VectorAndTokens:
    return reading.vector(), _NO_TOKENS


def _vector_and_tokens(reading: TokenVectors) -> _VectorAndTokens:
    return reading.vector(), reading.token_signs()


def _stacked(taken: Sequence[_VectorAndTokens]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
    vectors = np.zeros((len(taken), DIMENSIONS), dtype=np.float32)
    for row, (vector, _) in enumerate(taken):
        vectors[row] = vector
    return vectors, tuple(tokens for _, tokens in taken)


async def open_local_embedder(threads: int = 2, cache: Path | None = None) -> LocalEmbedder:
    """Load the model in a thread and return its embedder.

    ``cache`` is a folder for the optimized model, which saves 0.2 s and 100 MB (`mapped_model`).
    Raises ModelFilesInvalid when the model's files are absent or not the expected ones.
    """
    return LocalEmbedder(await asyncio.to_thread(_load, cache), threads)


def _load(cache: Path | None) -> MiniLM:
    return MiniLM(find_model_file(WEIGHTS), find_model_file(TOKENIZER), cache)
