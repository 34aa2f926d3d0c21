"""What came of the questions, slice by slice; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from bot.evaluating.asking import Case
from bot.evaluating.report import Figure, Slice
from rag.evaluation.metrics import Estimate, wilson

SHORT = 8
"""Words up to which a question counts as short."""

_STEPS = frozenset({"steps", "list"})
_UNANSWERABLE = frozenset({"near_miss", "far", "underspecified", "withheld"})

SLICES: Mapping[str, Callable[[Case], bool]] = {
    "all": lambda case: case.kind != "multi_turn",
    "short": lambda case: case.kind != "multi_turn" and case.row.words <= SHORT,
    "long": lambda case: case.kind != "multi_turn" and case.row.words > SHORT,
    "table": lambda case: "table" in case.row.tags,
    "steps": lambda case: bool(_STEPS.intersection(case.row.tags)),
    "multi_turn": lambda case: case.kind == "multi_turn",
}
"""Which questions belong to a slice. Follow-ups stand apart: they are rewritten first."""


def figure(estimate: Estimate) -> Figure:
    """Return an estimate as it is reported: rounded, None for what can't be told."""
    return Figure(
        value=rounded(estimate.value),
        low=rounded(estimate.low),
        high=rounded(estimate.high),
        n=estimate.n,
    )


def rounded(value: float) -> float | None:
    """Return a number as it is reported: four places, None for NaN."""
    return None if math.isnan(value) else round(value, 4)


def kind_of(case: Case) -> str:
    """Return the kind of question, or ``withheld``."""
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


def _answered(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.answered]


def _share(cases: Sequence[Case], has: Callable[[Case], bool]) -> Figure:
    return figure(wilson(sum(map(has, cases)), len(cases)))
