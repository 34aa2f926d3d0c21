"""The bench of answers a second in small: that what an answer costs stays in proportion."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rag.models import local_embedder
from rag.models.local_embedder import MiniLM
from tests.bench.answering import answering
from tests.bench.bench_throughput import measure
from tests.sweeps.chaos.questions import TOPICS
from tests.sweeps.chaos.scenario import prepare

MOST = 15.0
"""Embeddings of a question that an answer may cost; those of the sample company take 4 to 6."""


async def test_an_answer_costs_few_times_its_embedding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests share a network that remembers what it read.
    monkeypatch.setattr(local_embedder, "MiniLM", MiniLM)
    prepared = await asyncio.to_thread(prepare, tmp_path)
    # More than the embedder remembers.
    questions = [f"{topic.question} I am on floor {n}." for n in range(5) for topic in TOPICS]

    async with answering(prepared) as answers:
        found = await measure(answers, questions, 50, at_once=4)

    assert found.ratio < MOST
