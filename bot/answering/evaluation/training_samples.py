"""Turn cases into the gate's training samples, and choose how many features they can bear; pure.

A regression on more features than its data bear fits accidents: at least five of the rarer label
are wanted for each (Vittinghoff and McCulloch 2007, "Relaxing the rule of ten events per variable
in logistic and Cox regression").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import kind_of
from bot.answering.gate import with_careful_rule
from bot.answering.gate_file import is_of_model

CasesBySet = Sequence[tuple[str, Sequence[Case]]]
"""The cases of each set, by the set's name."""

UNANSWERABLE_SHARE = 1 / 3
"""What share of real questions is taken to have no answer in the pages; weights make it so."""

ANSWERABLE = "answerable"

_TRAINING_KINDS = frozenset({"answerable", "near_miss", "far", "underspecified"})


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


def samples_of(asked: CasesBySet) -> list[Sample]:
    """Return what the gate can learn from: composed answers, right ones and all others."""
    return [sample for name, cases in asked for sample in _of_set(name, cases)]


def _of_set(name: str, cases: Sequence[Case]) -> list[Sample]:
    learnt = [case for case in cases if case.kind in _TRAINING_KINDS]
    # Those that nothing was composed for count here: a composer that refuses most of a kind
    # should not have the few others weigh as much as all of them.
    cells = Counter(map(kind_of, learnt))
    return [
        Sample(
            features=_training_features(case),
            right=case.right or case.right_in_part,
            kind=kind_of(case),
            group=case.row.group,
            data=name,
            weight=_share(kind_of(case), cells) / cells[kind_of(case)],
        )
        for case in learnt
        if case.features.get("has_claims")
    ]


def _training_features(case: Case) -> Mapping[str, float]:
    of_model = is_of_model(case.calibration)
    return with_careful_rule(case.features) if of_model else case.features


def _share(kind: str, cells: Mapping[str, int]) -> float:
    """Return what share of a set's weight a kind of question has."""
    others = sum(each != ANSWERABLE for each in cells)
    if kind == ANSWERABLE:
        return 1 - UNANSWERABLE_SHARE if others else 1.0
    return UNANSWERABLE_SHARE / others


EVENTS_PER_FEATURE = 5

LEAST_GAIN = 0.0005
"""By how much a further feature has to lower the Brier score."""

Loss = Callable[[Sequence[str]], float | None]
"""The held-out Brier score of some features; None where one of them gets the wrong sign."""


def most_features(right: int, wrong: int) -> int:
    """Return how many features so many right and wrong answers bear; one at least."""
    return max(1, min(right, wrong) // EVENTS_PER_FEATURE)


def forward_selected(names: Sequence[str], most: int, loss: Loss) -> list[str]:
    """Return the features that lower the loss most, one added at a time, ``most`` of them at most.

    It ends when no further one gains LEAST_GAIN. All are returned where ``most`` allows it, and
    none where each gets the wrong sign.
    """
    if most >= len(names):
        return list(names)
    chosen: list[str] = []
    best = float("inf")
    while len(chosen) < most:
        tried = {name: loss([*chosen, name]) for name in names if name not in chosen}
        valid = {name: value for name, value in tried.items() if value is not None}
        name = min(valid, key=lambda each: valid[each], default=None)
        if name is None or valid[name] > best - LEAST_GAIN:
            break
        chosen.append(name)
        best = valid[name]
    return chosen
