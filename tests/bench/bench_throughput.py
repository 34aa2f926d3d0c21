"""How many questions are answered without a model, and their processor time beside the embedder's.

``python -m tests.bench.bench_throughput [--questions 600] [--at-once 8]``

The sample company's questions of its sample pages, by everything in ``serve`` but its doors:
inbox, record, durable engine, admission, desk, outbox. In turns with them the same questions are
embedded alone: processor time over that of one embedding tells machines and their load apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from bot.app.documents import SAMPLE
from bot.observability.logs import set_up_logs
from tests.bench.aims import Aim, machine_scale, print_aims
from tests.bench.answering import Answering, answering, collect_as_served

AIM_A_SECOND = 40.0
MOST_EMBEDDINGS = 6.0
"""The most that an answer may cost, in embeddings of its question."""

ROUND = 50
"""Questions a round; the embedder alone has its turn after each."""


@dataclass(slots=True)
class Throughput:
    """One value a round: processor milliseconds a question, and answers a second."""

    answer_ms: list[float] = field(default_factory=list)
    embed_ms: list[float] = field(default_factory=list)
    a_second: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many embeddings of a question an answer costs, the embedding included."""
        return float(np.median(np.divide(self.answer_ms, self.embed_ms)))


def sample_questions() -> list[str]:
    """Return the labelled questions of the sample company."""
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


async def measure(
    answers: Answering, questions: Sequence[str], count: int, at_once: int
) -> Throughput:
    """Answer so many questions after each was answered once, which fills what is cached."""
    await answers.answer(questions, at_once)
    collect_as_served()
    found, asked = Throughput(), cycle(questions)
    for _ in range(max(1, count // ROUND)):
        batch = list(islice(asked, ROUND))
        cpu, wall = time.process_time(), time.perf_counter()
        await answers.answer(batch, at_once)
        found.a_second.append(ROUND / (time.perf_counter() - wall))
        found.answer_ms.append((time.process_time() - cpu) / ROUND * 1000)
        cpu = time.process_time()
        await answers.embed(batch)
        found.embed_ms.append((time.process_time() - cpu) / ROUND * 1000)
    return found


async def run(count: int, at_once: int) -> Throughput:
    """Index the sample and measure."""
    with tempfile.TemporaryDirectory() as name:
        async with answering(Path(name), sample=True) as answers:
            return await measure(answers, sample_questions(), count, at_once)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--at-once", type=int, default=8)
    options = parser.parse_args()
    set_up_logs("error")
    found = asyncio.run(run(options.questions, options.at_once))
    rounds = {
        "an answer, all of it": found.answer_ms,
        "the embedder alone": found.embed_ms,
    }
    print(f"{len(found.answer_ms)} rounds of {ROUND} questions, {options.at_once} at once")
    for label, values in rounds.items():
        low, middle = np.percentile(values, [0, 50])
        print(f"  {label:<22} processor ms  p50 {middle:6.2f}   least {low:6.2f}")
    print(f"  ratio                  p50 {found.ratio:6.2f}")
    middle, best = np.percentile(found.a_second, [50, 100])
    print(f"  answers a second       p50 {middle:6.1f}   most  {best:6.1f}")
    least = AIM_A_SECOND / machine_scale()
    return print_aims(
        Aim("answers a second without a model", float(middle), least, least=True),
        Aim("an answer's processor time over one embedding's", found.ratio, MOST_EMBEDDINGS),
    )


if __name__ == "__main__":
    sys.exit(main())
