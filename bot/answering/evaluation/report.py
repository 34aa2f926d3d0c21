"""Define the models of an evaluation report, which is written as JSON."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = 2
"""Incremented when a field changes its meaning or is removed."""


class _ReportModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figure(_ReportModel):
    """A number with its 95 % interval over ``n`` cases; None where it cannot be computed."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Run(_ReportModel):
    """The questions, components and date of a run."""

    name: str
    date: date
    questions: str
    sha256: str
    kinds: dict[str, int]
    embedder: str
    composer: Literal["extractive", "model"]
    chunks: int
    model: str | None = Field(None, description="Which model, and of what its figures are made.")


class Answers(_ReportModel):
    """Quality of composed answers to answerable questions, regardless of the gate.

    ``words`` is their mean length, ``words_median`` the median, ``words_most`` the longest.
    """

    facts_and_page: Figure
    facts: Figure
    gold_cited: Figure
    gold_among_passages: Figure
    words: Figure
    words_median: Figure
    words_most: Figure


class Separation(_ReportModel):
    """AUROC of a score for answerable questions, or right answers, against one kind of others.

    ``matched`` counts only pairs of questions whose lengths differ by at most one word.
    """

    plain: Figure
    matched: Figure


class Comparison(_ReportModel):
    """AUROC of the gate and of one feature on the same questions, and the paired difference."""

    against: str
    feature: str
    gate: Figure
    single: Figure
    difference: Figure


class Gating(_ReportModel):
    """Separation and calibration of the gate's probability, over questions that reached the index.

    ``separation`` is by kind (``all``: right answers against the rest), then by score: ``gate``,
    ``keyword``, ``vector``, and ``length`` as a control. ``coverage`` is by allowed error, chosen
    in hindsight.
    """

    separation: dict[str, dict[str, Separation]]
    ece: Figure
    brier: Figure
    aurc: Figure
    coverage: dict[str, Figure]
    share_right: Figure


class Slice(_ReportModel):
    """Outcomes of one slice of the questions; each figure is a share.

    Answered means shown as sure or partial; an answer shown as unsure is counted separately. A
    partial answer is right when what it states is right and it names what is missing.

    Args:
        composed_right: answerable questions whose composed answer is right, whatever the gate did.
        answered: answerable questions that were answered.
        answered_right: answerable questions that were answered right.
        right_among_answered: right ones of the answered answerable questions.
        wrong_among_answered: wrong ones of all answered questions, unanswerable ones included.
        unanswerable_answered: unanswerable questions that were answered all the same.
        let_through: of the answers that were composed right, those that were given.
        unsure: questions that got an answer shown as unsure.
        right_among_unsure: right ones of the answers shown as unsure.
    """

    composed_right: Figure
    answered: Figure
    answered_right: Figure
    right_among_answered: Figure
    wrong_among_answered: Figure
    unanswerable_answered: Figure
    let_through: Figure
    unsure: Figure
    right_among_unsure: Figure


Verdict = Literal["good enough", "not sure to be good enough", "not good enough"]


class Trial(_ReportModel):
    """What one model made of the sample's questions, without follow-ups, and what to think of it.

    Args:
        model: its name; ``none`` for no model.
        verdict: None where there is nothing to compare with.
        found: the shares.
        refused: ids of the questions with an answer that got neither an answer nor a guess.
        held_back: those of them for which a right answer was made and not shown.
        invented: ids of the questions that were answered, and should not have been, or wrongly.
        unusable: ids of the questions to which the model gave no answer in a usable form.
    """

    model: str
    verdict: Verdict | None
    found: Slice
    refused: tuple[str, ...]
    held_back: tuple[str, ...]
    invented: tuple[str, ...]
    unusable: tuple[str, ...]


class Operation(_ReportModel):
    """Outcomes that the askers got at the threshold in force.

    ``outcomes`` counts by kind: ``sure``, ``partial`` and ``unsure`` answers from the pages,
    ``reply`` without them (small talk, general knowledge), ``clarification`` and ``escalation``.
    ``slices`` are by name: ``all``, ``short``, ``long``, ``table``, ``steps``, ``multi_turn``.
    """

    threshold: float | None
    outcomes: dict[str, dict[str, int]]
    slices: dict[str, Slice]
    withheld_kept_back: Figure


class Cost(_ReportModel):
    """Latency in ms per question (the whole desk, embedding included), model calls and tokens."""

    latency_p50_ms: float | None
    latency_p95_ms: float | None
    model_calls: int
    input_tokens: int
    output_tokens: int


class Report(_ReportModel):
    """The report of one run over one set of questions."""

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


class Trials(_ReportModel):
    """What ``evaluate --sample --out`` writes: a trial and a report for each model, in order."""

    version: int = 1
    trials: tuple[Trial, ...]
    reports: tuple[Report, ...]
