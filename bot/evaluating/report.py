"""The shape of an evaluation's report; written as JSON, read by people through rendering.py."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = 1
"""Counts up when a field changes its meaning or goes."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figure(_Part):
    """A number with its 95 % interval over ``n`` cases; None where it can't be told."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Run(_Part):
    """What was measured: which questions, on which parts, when."""

    name: str
    date: date
    questions: str
    sha256: str
    kinds: dict[str, int]
    embedder: str
    composer: Literal["extractive", "model"]
    chunks: int


class Answers(_Part):
    """Composed answers to answerable questions, whatever the gate made of them."""

    facts_and_page: Figure
    facts: Figure
    gold_cited: Figure
    gold_among_passages: Figure
    words: Figure


class Separation(_Part):
    """How well a score tells answerable questions, or right answers, from one kind of others.

    ``matched`` counts only pairs of questions whose lengths differ by at most one word.
    """

    plain: Figure
    matched: Figure


class Gating(_Part):
    """The gate's probability against the truth, over questions that reached the index.

    ``separation`` is by kind, then by score: ``gate``, ``keyword``, ``vector``, and ``length`` as
    a control. ``coverage`` is by allowed error, chosen in hindsight.
    """

    separation: dict[str, dict[str, Separation]]
    ece: Figure
    brier: Figure
    aurc: Figure
    coverage: dict[str, Figure]
    share_right: Figure


class Operation(_Part):
    """What the asker got at the threshold in force.

    ``outcomes`` counts by kind: ``answer`` from the pages, ``reply`` without them (small talk,
    general knowledge), ``clarification`` and ``escalation``.
    """

    threshold: float | None
    outcomes: dict[str, dict[str, int]]
    answered: Figure
    right_among_answered: Figure
    gold_cited_among_answered: Figure
    withheld_escalated: Figure


class Cost(_Part):
    """Milliseconds a question (the whole desk, embedding included), model calls and tokens."""

    latency_p50_ms: float | None
    latency_p95_ms: float | None
    model_calls: int
    input_tokens: int
    output_tokens: int


class Report(_Part):
    """One run over one set of questions."""

    version: int = VERSION
    run: Run
    retrieval: dict[str, dict[str, Figure]] = Field(
        description="By way of ranking (keyword, vector, rrf, ours), then by measure."
    )
    retrieval_lead: dict[str, Figure] = Field(
        description="Recall@5 of ours less that of each other way, paired by question."
    )
    routes: dict[str, dict[str, int]]
    routed_right: Figure
    answers: Answers
    citations: Figure
    gate: Gating
    operation: Operation
    cost: Cost
