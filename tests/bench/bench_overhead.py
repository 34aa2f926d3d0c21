"""What the desk adds to a question besides model and embedder, on a synthetic index.

``python -m tests.bench.bench_overhead [--chunks 10000] [--questions 300]``

Vectors cost next to nothing here (they are drawn at random, by text), so what is left is inbox,
admission, routing, search, composing, gate and record. The embedder here gives no token vectors:
the comparison by tokens is in bench_retrieval.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.intent_classifier import load_classifier
from bot.answering.routing.router import Router
from bot.domain.handoff import HandoffWording
from bot.domain.messages import Policy
from bot.inbox.accept import DurableInbox
from bot.observability.logs import set_up_logs
from bot.store.database import open_store, sqlite_url
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.index.embedded.schema import SCHEMA
from rag.pipeline import Pipeline
from rag.types import Fingerprint, Page, Vectors
from tests.bench.aims import Aim, machine_scale, print_aims
from tests.bench.answering import collect_as_served
from tests.fakes.builders import ALL, chunk, message
from tests.fakes.durable_inbox import inbox_over, running

PARTS = ("route", "search", "compose", "features")
TOTALS = ("desk", "record", "all", "stick")
WORDS = 3000
WORDS_A_CHUNK = 120
CHUNKS_A_PAGE = 10
WARM_UP = 10
AIMS_MS = {("desk", "p95"): 18.0, ("record", "p50"): 12.0, ("all", "p95"): 30.0}
STICK_LOOPS = 50_000
VECTORS = 4096
COMMONEST = 30
"""The most frequent words stand for stop words: questions are not searched by them."""


class FreeEmbedder:
    """Vectors out of thin air: the same text always gets the same one."""

    name = "free@1"
    dimensions = 384
    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def embed_query(self, text: str) -> Vectors:
        return self._draw(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._draw(text) for text in texts])

    def __init__(self) -> None:
        drawn = np.random.default_rng(3).standard_normal((VECTORS, self.dimensions))
        self._drawn = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    def _draw(self, text: str) -> Vectors:
        unit: Vectors = self._drawn[zlib.crc32(text.encode()) % VECTORS]
        return unit


async def fill(index: EmbeddedIndex, embedder: FreeEmbedder, chunks: int) -> None:
    """Write pages of sentences of made-up words, their frequencies as in real text (Zipf)."""
    draw = np.random.default_rng(7)
    for page in range(chunks // CHUNKS_A_PAGE):
        made = []
        for ordinal in range(CHUNKS_A_PAGE):
            numbers = draw.zipf(1.3, WORDS_A_CHUNK) % WORDS
            sentences = [
                " ".join(f"word{n}" for n in numbers[at : at + 12]).capitalize() + "."
                for at in range(0, WORDS_A_CHUNK, 12)
            ]
            made.append(
                chunk(
                    " ".join(sentences),
                    chunk_id=f"{page}-{ordinal}",
                    page_id=f"p{page}",
                    title=f"Page {page}",
                    ordinal=ordinal,
                )
            )
        vectors = await embedder.embed([each.text for each in made])
        await index.upsert_page(Page("default", "IT", f"p{page}", "1", ALL), made, vectors)


def desk_over(index: EmbeddedIndex, embedder: FreeEmbedder) -> Desk:
    """Return the desk as it is served without a model."""
    return Desk(
        ModelProfile(
            route=Router(embedder, load_classifier(), None).route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=Pipeline(index, embedder, ExtractiveComposer(embedder)),
        ),
        gate=load_gate(0.65).judge,
        wording=HandoffWording(not_found="", uncertain=""),
    )


async def measure(inbox: DurableInbox, questions: int) -> dict[str, list[float]]:
    """Return milliseconds by part, a value a question; the first few warm up.

    ``desk`` is the sum of the named parts: answering itself. ``record`` is what is left of the
    whole way from inbox to recorded outcome: keeping the message, progress rows, admission, the
    outcome, each a transaction that is on disk before the next. ``stick`` is the same loop of
    Python every time: it tells the machines that print these figures apart, and its p95 over its
    p50 how much of the spread is theirs.
    """
    draw = np.random.default_rng(11)
    times: dict[str, list[float]] = {part: [] for part in (*PARTS, *TOTALS)}
    for number in range(questions + WARM_UP):
        words = " ".join(f"word{n}" for n in draw.integers(COMMONEST, WORDS, 6))
        asked = message(f"how do I use {words}", message_id=str(number), thread=str(number))
        started = time.perf_counter()
        outcome = await inbox.outcome(await inbox.accept(asked))
        took = (time.perf_counter() - started) * 1000
        if number >= WARM_UP:
            parts = {part: outcome.trace.timings_ms.get(part, 0.0) for part in PARTS}
            for part, value in parts.items():
                times[part].append(value)
            times["desk"].append(sum(parts.values()))
            times["all"].append(took)
            times["record"].append(took - sum(parts.values()))
            times["stick"].append(_yardstick())
    return times


def _yardstick() -> float:
    started = time.perf_counter()
    for _ in range(STICK_LOOPS):
        pass
    return (time.perf_counter() - started) * 1000


async def run(chunks: int, questions: int) -> dict[str, float]:
    """Return p50 and p95 by part, in milliseconds."""
    embedder = FreeEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA)
        index = await open_index(Path(folder) / "index.sqlite", expected)
        store = await open_store(sqlite_url(Path(folder)))
        try:
            await fill(index, embedder, chunks)
            opened = inbox_over(
                store,
                admission=Admission(
                    store.interactions, VouchedDirectory(), Policy(), store.policies
                ),
                desk=desk_over(index, embedder),
            )
            async with running(opened) as inbox:
                collect_as_served()
                times = await measure(inbox, questions)
        finally:
            await store.close()
            await index.close()
    return {
        f"{part}_p{rank}": float(np.percentile(values, rank))
        for part, values in times.items()
        for rank in (50, 95)
    }


def main() -> int:
    """Print the table; write it as JSON when asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    set_up_logs("error")
    figures = asyncio.run(run(options.chunks, options.questions))
    print(f"own overhead a question at {options.chunks:,} chunks, ms")
    for part in (*PARTS, *TOTALS):
        print(f"  {part:<8} p50 {figures[f'{part}_p50']:6.1f}   p95 {figures[f'{part}_p95']:6.1f}")
    scale = machine_scale()
    return print_aims(
        *(
            Aim(f"{total}, {rank}", figures[f"{total}_{rank}"], bound * scale, "ms")
            for (total, rank), bound in AIMS_MS.items()
        )
    )


if __name__ == "__main__":
    sys.exit(main())
