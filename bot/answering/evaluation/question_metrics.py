"""Compute metrics from cases: retrieval, routes, answers, citations, slices and cost; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bot.answering.evaluation import metrics
from bot.answering.evaluation.metrics import Estimate, mean, wilson
from bot.answering.evaluation.question_cases import Case, Rankings
from bot.answering.evaluation.report import (
    Answers,
    Cost,
    Figure,
    Operation,
    Slice,
    Trial,
    Verdict,
)
from bot.domain.messages import Intent

SHORT_QUESTION_WORDS = 8
"""Maximum number of words of a short question."""

_STEPS = frozenset({"steps", "list"})
_UNANSWERABLE = frozenset({"near_miss", "far", "underspecified", "withheld"})

SLICES: Mapping[str, Callable[[Case], bool]] = {
    "all": lambda case: case.kind != "multi_turn",
    "short": lambda case: case.kind != "multi_turn" and case.row.words <= SHORT_QUESTION_WORDS,
    "long": lambda case: case.kind != "multi_turn" and case.row.words > SHORT_QUESTION_WORDS,
    "table": lambda case: "table" in case.row.tags,
    "steps": lambda case: bool(_STEPS.intersection(case.row.tags)),
    "multi_turn": lambda case: case.kind == "multi_turn",
}
"""The test for membership in each slice. Follow-ups are separate, because they are rewritten
first."""


def figure(estimate: Estimate) -> Figure:
    """Return an estimate in the form of the report: rounded, None for NaN."""
    return Figure(
        value=rounded(estimate.value),
        low=rounded(estimate.low),
        high=rounded(estimate.high),
        n=estimate.n,
    )


def rounded(value: float) -> float | None:
    """Return a number rounded to four places; None for NaN."""
    return None if math.isnan(value) else round(value, 4)


def kind_of(case: Case) -> str:
    """Return the question's kind, or ``withheld`` for a withheld run."""
    return "withheld" if case.withheld else case.kind


def slices(cases: Sequence[Case]) -> dict[str, Slice]:
    """Return the figures of each slice that has questions."""
    chosen = {name: [case for case in cases if has(case)] for name, has in SLICES.items()}
    return {name: of_slice(those) for name, those in chosen.items() if those}


def of_slice(cases: Sequence[Case]) -> Slice:
    """Return the figures over the given questions."""
    answerable = [case for case in cases if case.row.has_answer and not case.withheld]
    unanswerable = [case for case in cases if kind_of(case) in _UNANSWERABLE]
    composed = [case for case in answerable if case.right]
    unsure = [case for case in cases if case.level == "unsure"]
    return Slice(
        composed_right=_share(answerable, lambda case: case.right),
        answered=_share(answerable, lambda case: case.answered),
        answered_right=_share(answerable, lambda case: case.answered_right),
        right_among_answered=_share(_answered(answerable), lambda case: case.answered_right),
        wrong_among_answered=_share(_answered(cases), lambda case: not case.answered_right),
        unanswerable_answered=_share(unanswerable, lambda case: case.answered),
        let_through=_share(composed, lambda case: case.answered),
        unsure=_share([*answerable, *unanswerable], lambda case: case.level == "unsure"),
        right_among_unsure=_share(unsure, lambda case: case.right),
    )


MOST_WRONG = 0.05
"""The share of wrong answers, among all that are given, that a good model keeps below."""


def trial_of(model: str, cases: Sequence[Case], plain: Sequence[Case] | None = None) -> Trial:
    """Return what a model made of some questions, follow-ups left out.

    Args:
        model: its name.
        cases: its answers.
        plain: the answers without a model to the same questions, to compare with.
    """
    own = [case for case in cases if SLICES["all"](case)]
    found = of_slice(own)
    answerable = [case for case in own if case.row.has_answer and not case.withheld]
    refused = [case for case in answerable if case.level is None]
    return Trial(
        model=model,
        verdict=None if plain is None else _verdict(found, slices(plain)["all"]),
        found=found,
        refused=_ids(refused),
        held_back=_ids([case for case in refused if case.right]),
        invented=_ids([case for case in own if case.answered and not case.answered_right]),
        unusable=_ids([case for case in own if case.failure]),
    )


def _verdict(found: Slice, plain: Slice) -> Verdict:
    """Return whether a model is worth having: righter than none, and hardly ever wrong.

    Where more than MOST_WRONG is wrong, but that may be chance by the 95 % interval, nobody can
    tell.
    """
    wrong, right = found.wrong_among_answered, found.answered_right.value or 0.0
    if right <= (plain.answered_right.value or 0.0):
        return "not good enough"
    if (wrong.value or 0.0) <= MOST_WRONG:
        return "good enough"
    return "not sure to be good enough" if (wrong.low or 0.0) <= MOST_WRONG else "not good enough"


def _ids(cases: Sequence[Case]) -> tuple[str, ...]:
    return tuple(f"{case.row.id} (withheld)" if case.withheld else case.row.id for case in cases)


def _answered(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.answered]


def _share(cases: Sequence[Case], has: Callable[[Case], bool]) -> Figure:
    return figure(wilson(sum(map(has, cases)), len(cases)))


RANKINGS: Mapping[str, Callable[[Rankings], tuple[str, ...]]] = {
    "keyword": lambda found: found.keyword,
    "vector": lambda found: found.vector,
    "rrf": lambda found: found.rrf,
    "ours": lambda found: found.ours,
}

_MEASURES: Mapping[str, Callable[[Sequence[str], metrics.Gold], float]] = {
    "hit@1": lambda pages, gold: metrics.hit(pages, gold, 1),
    "hit@5": lambda pages, gold: metrics.hit(pages, gold, 5),
    "hit@10": lambda pages, gold: metrics.hit(pages, gold, 10),
    "recall@5": lambda pages, gold: metrics.recall(pages, gold, 5),
    "nDCG@10": lambda pages, gold: metrics.ndcg(pages, gold.relevant, 10),
}

OUTCOMES = ("sure", "partial", "unsure", "reply", "clarification", "escalation")
"""The possible outcomes of a question; the first three are answers from the pages."""

_RIGHT_ROUTES: Mapping[str, frozenset[Intent]] = {
    "generic": frozenset({Intent.GENERIC}),
    "human": frozenset({Intent.HUMAN}),
}
_TO_THE_INDEX = frozenset({Intent.DOMAIN, Intent.UNKNOWN})


def retrieval(cases: Sequence[Case]) -> dict[str, dict[str, Figure]]:
    """Return every measure of every ranking, over the same questions."""
    ranked = [case for case in cases if case.rankings is not None]
    groups = [case.row.group for case in ranked]
    return {
        way: {
            name: figure(
                mean([measure(_pages(case, way), case.row.gold) for case in ranked], groups)
            )
            for name, measure in _MEASURES.items()
        }
        for way in RANKINGS
    }


def retrieval_lead(cases: Sequence[Case]) -> dict[str, Figure]:
    """Return the paired difference of recall@5 between our ranking and each other one."""
    ranked = [case for case in cases if case.rankings is not None]
    groups = [case.row.group for case in ranked]
    recall = {
        way: [metrics.recall(_pages(case, way), case.row.gold, 5) for case in ranked]
        for way in RANKINGS
    }
    return {
        way: figure(mean([a - b for a, b in zip(recall["ours"], recall[way], strict=True)], groups))
        for way in RANKINGS
        if way != "ours"
    }


def routes(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """Return how many questions of each kind got each intent."""
    counted = Counter((case.kind, case.intent.value) for case in _without_withheld(cases))
    kinds = dict.fromkeys(case.kind for case in cases)
    return {
        kind: {intent.value: counted[kind, intent.value] for intent in Intent} for kind in kinds
    }


def routed_right(cases: Sequence[Case]) -> Figure:
    """Return the share of questions with the right intent; UNKNOWN counts as DOMAIN."""
    asked = _without_withheld(cases)
    right = sum(case.intent in _RIGHT_ROUTES.get(case.kind, _TO_THE_INDEX) for case in asked)
    return figure(wilson(right, len(asked)))


def answers(cases: Sequence[Case]) -> Answers:
    """Return the quality of composed answers to answerable questions, before the gate."""
    asked = [case for case in _without_withheld(cases) if case.row.has_answer]
    named = [case for case in asked if case.row.key_facts]
    groups = [case.row.group for case in asked]
    composed = [case for case in asked if case.verdict.citations]
    words = sorted(case.verdict.words for case in composed)
    return Answers(
        facts_and_page=figure(mean([float(case.right) for case in asked], groups)),
        facts=figure(
            mean([float(bool(c.verdict.facts)) for c in named], [c.row.group for c in named])
        ),
        gold_cited=figure(mean([float(case.verdict.cited) for case in asked], groups)),
        gold_among_passages=figure(mean([float(c.verdict.evidence) for c in asked], groups)),
        words=figure(
            mean([float(c.verdict.words) for c in composed], [c.row.group for c in composed])
        ),
        words_median=Figure(value=float(np.median(words)) if words else None, n=len(words)),
        words_most=Figure(value=float(words[-1]) if words else None, n=len(words)),
    )


def citations(cases: Sequence[Case]) -> Figure:
    """Return the share of valid quotes among all, withheld runs included."""
    valid = sum(case.verdict.valid for case in cases)
    return figure(wilson(valid, sum(case.verdict.citations for case in cases)))


def operation(cases: Sequence[Case]) -> Operation:
    """Return the outcomes that askers got at the threshold in force."""
    withheld = [case for case in cases if case.withheld]
    return Operation(
        threshold=next((case.threshold for case in cases if case.threshold is not None), None),
        outcomes=_outcomes(cases),
        slices=slices(cases),
        withheld_kept_back=figure(
            wilson(sum(not case.answered for case in withheld), len(withheld))
        ),
    )


def cost(cases: Sequence[Case]) -> Cost:
    """Return latency over all questions, and the number of model calls and tokens."""
    taken = [case.latency_ms for case in cases]
    p50, p95 = np.quantile(taken, (0.5, 0.95)) if taken else (math.nan, math.nan)
    return Cost(
        latency_p50_ms=rounded(float(p50)),
        latency_p95_ms=rounded(float(p95)),
        model_calls=sum(case.model_calls for case in cases),
        input_tokens=sum(case.input_tokens for case in cases),
        output_tokens=sum(case.output_tokens for case in cases),
    )


def _outcomes(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    counted = Counter((kind_of(case), case.level or case.response) for case in cases)
    kinds = dict.fromkeys(kind_of(case) for case in cases)
    return {kind: {given: counted[kind, given] for given in OUTCOMES} for kind in kinds}


def _without_withheld(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if not case.withheld]


def _pages(case: Case, way: str) -> tuple[str, ...]:
    return RANKINGS[way](case.rankings) if case.rankings else ()
