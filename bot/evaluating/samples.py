"""What the gate learns from: cases as features and labels; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.evaluating.asking import Case
from bot.evaluating.slices import kind_of
from bot.gating.careful import with_careful_rule
from bot.gating.gate_file import is_of_model

Asked = Sequence[tuple[str, Sequence[Case]]]
"""The cases of each set, by the set's name."""

UNANSWERABLE_SHARE = 1 / 3
"""What share of real questions is taken to have no answer in the pages; weights make it so."""

ANSWERABLE = "answerable"

_LEARNT_FROM = frozenset({"answerable", "near_miss", "far", "underspecified"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer with its features.

    ``kind`` is ``answerable``, or what kind of question without an answer it is: ``near_miss``,
    ``far``, ``underspecified`` or ``withheld``. ``group`` keeps questions on the same page in one
    fold; ``data`` names the set. ``weight`` makes every set count alike, and every kind of question
    without an answer: those take UNANSWERABLE_SHARE of a set between them, however many were asked
    of each.
    """

    features: Mapping[str, float]
    right: bool
    kind: str
    group: str
    data: str
    weight: float = 1.0


def samples_of(asked: Asked) -> list[Sample]:
    """Return what the gate can learn from: composed answers, right ones and all others."""
    return [sample for name, cases in asked for sample in _of_set(name, cases)]


def _of_set(name: str, cases: Sequence[Case]) -> list[Sample]:
    learnt = [case for case in cases if case.kind in _LEARNT_FROM]
    # Those that nothing was composed for count here: a composer that refuses most of a kind
    # should not have the few others weigh as much as all of them.
    cells = Counter(map(kind_of, learnt))
    return [
        Sample(
            features=_known(case),
            right=case.right or case.right_in_part,
            kind=kind_of(case),
            group=case.row.group,
            data=name,
            weight=_share(kind_of(case), cells) / cells[kind_of(case)],
        )
        for case in learnt
        if case.features.get("has_claims")
    ]


def _known(case: Case) -> Mapping[str, float]:
    of_model = is_of_model(case.calibration)
    return with_careful_rule(case.features) if of_model else case.features


def _share(kind: str, cells: Mapping[str, int]) -> float:
    """Return what share of a set's weight a kind of question has."""
    others = sum(each != ANSWERABLE for each in cells)
    if kind == ANSWERABLE:
        return 1 - UNANSWERABLE_SHARE if others else 1.0
    return UNANSWERABLE_SHARE / others
