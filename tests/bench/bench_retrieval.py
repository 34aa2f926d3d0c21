"""A search of the embedded index against its raw parts, in one run, permissions on.

``python -m tests.bench.bench_retrieval [--chunks 10000 100000] [--questions 200]``

The raw parts are one FTS5 query and one exact top-k in numpy over everything, without permissions,
without reading any chunk and without comparing tokens. Text and vectors are synthetic: words as
frequent as in a language, vectors drawn at random.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.index.embedded.queries import CANDIDATES
from rag.index.embedded.schema import SCHEMA
from rag.index.hybrid_search import fts5_match_any, query_terms
from rag.types import (
    EVERYONE,
    Chunk,
    Fingerprint,
    Page,
    Principal,
    Question,
    Readers,
    TokenSigns,
    Vectors,
)

DIMENSIONS = 384
VOCABULARY = 20_000
WORDS_A_CHUNK = 120
CHUNKS_A_PAGE = 10
WORDS_A_QUESTION = 6
TOKENS_A_CHUNK = 85
TOKENS_A_QUESTION = 10
GROUPS = 10
ASKER = frozenset({EVERYONE, Principal("group:0"), Principal("group:1")})
K = 5


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds a question, median and 95th percentile; ``build_seconds`` for the whole."""

    chunks: int
    build_seconds: float
    search_p50: float
    search_p95: float
    fts_p50: float
    fts_p95: float
    numpy_p50: float
    numpy_p95: float
    added_p50: float
    added_p95: float

    @property
    def ratio(self) -> float:
        """How many times the raw parts a search costs, by the medians."""
        return self.search_p50 / (self.fts_p50 + self.numpy_p50)


class Corpus:
    """Synthetic pages and questions; the same seed gives the same."""

    def __init__(self, chunks: int, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._words = [_word(rank) for rank in range(VOCABULARY)]
        share = np.cumsum(1 / np.arange(10, VOCABULARY + 10))
        self._shares = share / share[-1]
        self.pages = chunks // CHUNKS_A_PAGE
        self.vectors = self._unit(self.pages * CHUNKS_A_PAGE)

    def page(self, number: int) -> tuple[Page, list[Chunk], Vectors, list[TokenSigns]]:
        group = Principal(f"group:{number % GROUPS}")
        readers: Readers = (frozenset({EVERYONE} if number % 2 else {group}),)
        page = Page("acme", "it", f"p{number}", "1", readers)
        first = number * CHUNKS_A_PAGE
        chunks = [self._chunk(page, ordinal) for ordinal in range(CHUNKS_A_PAGE)]
        shape = (CHUNKS_A_PAGE, TOKENS_A_CHUNK, DIMENSIONS // 8)
        tokens = list(self._random.integers(0, 256, shape, dtype=np.uint8))
        return page, chunks, self.vectors[first : first + CHUNKS_A_PAGE], tokens

    def question(self) -> tuple[str, Vectors, Vectors]:
        """Words of a question are rarer than those of a text: stop words are dropped anyway."""
        ranks = self._random.integers(20, 2000, WORDS_A_QUESTION)
        text = "how do I " + " ".join(self._words[rank] for rank in ranks)
        return text, self._unit(1)[0], self._unit(TOKENS_A_QUESTION)

    def _chunk(self, page: Page, ordinal: int) -> Chunk:
        ranks = np.searchsorted(self._shares, self._random.random(WORDS_A_CHUNK))
        return Chunk(
            id=f"{page.id}-{ordinal}",
            tenant=page.tenant,
            space=page.space,
            page_id=page.id,
            ordinal=ordinal,
            title=f"Page {page.id}",
            section="",
            breadcrumb=(page.space, f"Page {page.id}"),
            text=" ".join(self._words[rank] for rank in ranks),
            url="",
            readers=page.readers,
            source_type="folder",
            source_id=page.id,
        )

    def _unit(self, count: int) -> Vectors:
        drawn = self._random.standard_normal((count, DIMENSIONS)).astype(np.float32)
        unit: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit


def _word(rank: int) -> str:
    """A made-up word for a rank: pronounceable, unlike its neighbours, deaf to stemming."""
    syllables = [consonant + vowel for consonant in "bdfgkmnprt" for vowel in "aou"]
    spelled = ""
    for _ in range(4):
        rank, syllable = divmod(rank * 7 + 3, len(syllables))
        spelled += syllables[syllable]
    return spelled + "k"


async def measure(chunks: int, questions: int) -> Row:
    """Build an index of a size, ask it, and ask its raw parts the same, question by question."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "index.sqlite"
        corpus = Corpus(chunks)
        index = await open_index(path, Fingerprint("random@1", DIMENSIONS, SCHEMA))
        connection = sqlite3.connect(path)
        try:
            seconds = await _build(index, corpus)
            return await _ask(index, connection, corpus, questions, seconds)
        finally:
            connection.close()
            await index.close()


async def _build(index: EmbeddedIndex, corpus: Corpus) -> float:
    started = time.perf_counter()
    for number in range(corpus.pages):
        await index.upsert_page(*corpus.page(number))
    await index.warm()
    return time.perf_counter() - started


async def _ask(
    index: EmbeddedIndex,
    connection: sqlite3.Connection,
    corpus: Corpus,
    questions: int,
    build_seconds: float,
) -> Row:
    times = []
    for _ in range(questions):
        text, vector, tokens = corpus.question()
        fts = _timed(partial(_fts_alone, connection, text))
        exact = _timed(partial(_numpy_alone, corpus.vectors, vector))
        started = time.perf_counter()
        found = await index.search(Question(text, "acme", vector, tokens=tokens), ASKER, K)
        times.append(((time.perf_counter() - started) * 1e3, fts, exact))
        if len(found) != K:
            raise RuntimeError(f"{len(found)!r} passages found; the corpus is not as meant.")
    search, fts_times, exact_times = np.array(times[questions // 10 :]).T
    return Row(
        corpus.pages * CHUNKS_A_PAGE,
        build_seconds,
        *_middle_and_tail(search),
        *_middle_and_tail(fts_times),
        *_middle_and_tail(exact_times),
        *_middle_and_tail(search - fts_times - exact_times),
    )


def _fts_alone(connection: sqlite3.Connection, text: str) -> None:
    connection.execute(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
        (fts5_match_any(query_terms(text)), CANDIDATES),
    ).fetchall()


def _numpy_alone(vectors: Vectors, vector: Vectors) -> None:
    cosines = np.vecdot(vectors, vector)
    best = np.argpartition(-cosines, CANDIDATES)[:CANDIDATES]
    best[np.argsort(-cosines[best])]


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _middle_and_tail(times: Sequence[float] | Vectors) -> tuple[float, float]:
    middle, tail = np.percentile(times, [50, 95])
    return float(middle), float(tail)


def _print(rows: Sequence[Row]) -> None:
    print("| chunks | build s | search ms p50/p95 | FTS5 alone | numpy alone | added | ratio |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [
            f"{row.chunks:,}",
            f"{row.build_seconds:.1f}",
            f"{row.search_p50:.1f} / {row.search_p95:.1f}",
            f"{row.fts_p50:.1f} / {row.fts_p95:.1f}",
            f"{row.numpy_p50:.1f} / {row.numpy_p95:.1f}",
            f"{row.added_p50:.1f} / {row.added_p95:.1f}",
            f"{row.ratio:.2f}",
        ]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Measure, print the table, write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    rows = [asyncio.run(measure(chunks, options.questions)) for chunks in options.chunks]
    _print(rows)


if __name__ == "__main__":
    main()
