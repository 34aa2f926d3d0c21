"""Attach questions to gaps and group all of them anew, over a real record.

``python -m tests.bench.bench_gaps [--questions 20000] [--new 300]``

Vectors are drawn around topics whose sizes are as uneven as those of real questions (Zipf), with
the installed embedder's dimensions and cosines; each question has passages and an asker.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import insert

from bot.domain.interactions import Outcome, Trace
from bot.domain.messages import Intent, InteractionId
from bot.learning.gap_jobs import GapJob
from bot.learning.gaps import GapQuery, stored_vector
from bot.learning.question_words import Viewer
from bot.store.database import Store, open_store, sqlite_url
from bot.store.gaps import encode_passages
from bot.store.learning_tables import GapQuestionRow, GapRow
from bot.store.rows import Rows
from bot.store.tables import InteractionRow
from rag.embedding import QuestionVector
from rag.types import Vectors
from tests.bench.aims import Aim, machine_scale, print_aims
from tests.fakes.board_app import OPEN
from tests.fakes.builders import message, route
from tests.fakes.chat_context import ReadsPages
from tests.fakes.learning import LOW, gap_job, gap_views, run, span_of_days
from tests.fakes.rag_ports import WordEmbedder
from tests.unit.bot.learning.test_question_words import LENA

DIMENSIONS = 384
NOISE = 0.9
"""Questions of a topic have a cosine of .74 with its middle."""

_BATCH = 500
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of attaching a question beside a bare write, of grouping all beside all pairs.

    The latter with the seconds that processors were at it: another program can't change those.
    """

    attach_p95: float
    write_p95: float
    regroup: tuple[float, float]
    pairs: tuple[float, float]
    listing: float
    gaps: int
    megabytes: float


def drawn(questions: int, seed: int = 1) -> Vectors:
    """Return the vectors of questions about a quarter as many topics."""
    draw = np.random.default_rng(seed)
    topics = draw.standard_normal((max(1, questions // 4), DIMENSIONS)).astype(np.float32)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    chosen = topics[draw.zipf(1.4, questions) % len(topics)]
    noise = draw.standard_normal((questions, DIMENSIONS)).astype(np.float32)
    made = chosen + NOISE * noise / np.float32(np.sqrt(DIMENSIONS))
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


async def fill(store: Store, vectors: Vectors) -> None:
    """Record questions, each in a gap of its own: the most gaps that there can be."""
    rows, now = Rows(), datetime.now(UTC)
    for begin in range(0, len(vectors), _BATCH):
        asked, gaps, members = [], [], []
        for number, vector in enumerate(vectors[begin : begin + _BATCH], start=begin):
            question = message(f"question {number}", message_id=f"bench-{number}")
            gap, at = str(uuid.uuid4()), now - timedelta(minutes=number)
            asked.append({**rows.opened(question, "bench"), "status": "done", "created_at": at})
            gaps.append({"id": gap, "tenant": "default", "state": "new", "state_at": now})
            members.append(_member(question.interaction_id, gap, at, number, vector))
        async with store.transactions.writing(lasting=False) as connection:
            for table, added in (
                (InteractionRow, asked),
                (GapRow, gaps),
                (GapQuestionRow, members),
            ):
                await connection.execute(insert(table), added)


def _member(
    name: InteractionId, gap: str, at: datetime, number: int, vector: Vectors
) -> dict[str, object]:
    return {
        "interaction_id": name,
        "tenant": "default",
        "gap": gap,
        "cause": "handed_over",
        "asked_at": at,
        "added_at": at,
        "person": f"person-{number % 997}",
        "question": f"question {number}",
        "public": False,
        "embedder": WordEmbedder.name,
        "vector": stored_vector(vector),
        "passages": encode_passages([]),
    }


async def attach(store: Store, job: GapJob, vectors: Iterable[Vectors]) -> list[float]:
    """Ask new questions one by one; return the seconds that the job takes for each."""
    seconds = []
    for number, vector in enumerate(vectors):
        question = message(f"new {number}", message_id=f"new-{number}")
        opened = await store.work.open(question, "bench")
        recorded = QuestionVector.of(WordEmbedder.name, vector)
        trace = Trace(route(Intent.DOMAIN, question.text), heard=(), vector=recorded)
        await store.work.close(opened, Outcome(LOW, trace), last=True)
        began = time.perf_counter()
        await run(job)
        seconds.append(time.perf_counter() - began)
    return seconds


async def bare_writes(store: Store, times: int) -> list[float]:
    """Return the seconds of single rows written to the same record, each on its own."""
    seconds = []
    for number in range(times):
        began = time.perf_counter()
        await store.audits.append("default", "bench", "write", str(number))
        seconds.append(time.perf_counter() - began)
    return seconds


def all_pairs(vectors: Vectors) -> tuple[float, float]:
    """Return what a bare product of all pairs takes, with the nearest of each."""
    began = now()
    for begin in range(0, len(vectors), _BLOCK):
        (vectors[begin : begin + _BLOCK] @ vectors.T).argmax(axis=1)
    return since(began)


def now() -> tuple[float, float]:
    """Return the seconds of the clock and of the processors."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - began[0], time.process_time() - began[1]


async def measure(questions: int, new: int, directory: Path) -> Measured:
    """Fill a record, attach new questions, and group all of them anew."""
    vectors = drawn(questions + new)
    async with await open_store(sqlite_url(directory)) as store:
        await fill(store, vectors[:questions])
        job = gap_job(store)
        await run(job)
        # The first question of a process loads the gaps.
        await attach(store, job, [vectors[questions]])
        attached = await attach(store, job, vectors[questions + 1 :])
        written = await bare_writes(store, len(attached))
        pairs = all_pairs(vectors)
        begun = now()
        await job.regroup()
        regroup = since(begun)
        began = time.perf_counter()
        query = GapQuery(span_of_days(400))
        views = gap_views(store, ReadsPages(OPEN))
        await views.listed(query, Viewer(LENA.ids, LENA.reader), limit=25)
        listing = time.perf_counter() - began
        found = await store.gap_reports.listed("default", query, questions, 0)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    attach_p95, write_p95 = (float(np.percentile(each, 95)) for each in (attached, written))
    return Measured(attach_p95, write_p95, regroup, pairs, listing, len(found), most)


def main() -> int:
    """Print what was measured, beside the aims."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--new", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = asyncio.run(measure(options.questions, options.new, Path(directory)))
    print(f"  {options.questions:,} questions in as many gaps; afterwards {found.gaps:,} gaps")
    print(f"  attach     p95 {found.attach_p95 * 1000:8.1f} ms, the whole job with its writes")
    ratio = found.attach_p95 / found.write_p95
    print(f"  one write  p95 {found.write_p95 * 1000:8.1f} ms, bare; ratio {ratio:.1f}")
    print(f"  regroup        {found.regroup[0]:8.1f} s, reading and moving included")
    print(f"  all pairs      {found.pairs[0]:8.1f} s, bare")
    ratio = found.regroup[1] / found.pairs[1]
    cpu = f"{found.regroup[1]:.1f} s and {found.pairs[1]:.1f} s"
    print(f"  of processors  {cpu}; ratio {ratio:.1f}")
    print(f"  the list       {found.listing:8.2f} s, its first page")
    print(f"  memory         {found.megabytes:8.0f} MB at the peak of the process")
    scale = machine_scale()
    return print_aims(
        Aim("attaching a question to a gap, p95", found.attach_p95 * 1000, 50 * scale, "ms"),
        Aim("grouping all questions again", found.regroup[0], 60 * scale, "s"),
        Aim("memory of grouping, peak", found.megabytes, 1000, "MB"),
    )


if __name__ == "__main__":
    sys.exit(main())
