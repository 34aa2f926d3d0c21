"""What the gate learns from: cases as features and labels; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.evaluating.asking import Case

Asked = Sequence[tuple[str, Sequence[Case]]]
"""The cases of each set, by the set's name."""

_LEARNT_FROM = frozenset({"answerable", "near_miss", "far"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer with its features.

    ``kind`` is ``answerable``, or what kind of question without an answer it is: ``near_miss``,
    ``far`` or ``withheld``. ``group`` keeps questions on the same page in one fold; ``data``
    names the set.
    """

    features: Mapping[str, float]
    right: bool
    kind: str
    group: str
    data: str


def samples_of(asked: Asked, *, evidence: bool = False) -> list[Sample]:
    """Return what the gate can learn from: answerable questions, and those without an answer.

    Args:
        asked: the cases.
        evidence: label by whether a gold page was found, instead of whether the answer is right;
            then those that nothing was quoted for count too, which the gate vetoes elsewhere.
    """
    return [
        Sample(
            features=case.features,
            right=_found(case) if evidence else case.right,
            kind="withheld" if case.withheld else case.kind,
            group=case.row.group,
            data=name,
        )
        for name, cases in asked
        for case in cases
        if case.kind in _LEARNT_FROM and (case.features.get("has_claims") or evidence)
    ]


def _found(case: Case) -> bool:
    return case.row.has_answer and not case.withheld and case.verdict.evidence
