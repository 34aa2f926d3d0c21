"""What all sets say together: gates that never saw a page, features, certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.answering.evaluation.certificate import HeldOut, held_out
from bot.answering.evaluation.gate_metrics import best_features, comparisons
from bot.answering.evaluation.gate_training import fit
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import of_slice
from bot.answering.evaluation.report import Comparison
from bot.answering.evaluation.training_samples import EXPECTED_SIGNS, CasesBySet, samples_of
from bot.answering.gate import Gate, load_gate_file
from bot.answering.gate_file import GateFile
from tests.evals.floors import UNSEEN
from tests.evals.question_runs import Measured
from tests.evals.sets import SAMPLE

_FOLDS = 5


def judge_unseen(asked: CasesBySet, key: str, threshold: float) -> list[tuple[str, list[Case]]]:
    """Return the cases as a gate would have judged them that was trained without them.

    Args:
        asked: the cases of the training sets, by name.
        key: the calibration's key, as in the gate's file.
        threshold: from which probability on an answer is given.

    Questions of one half leave together, all others page by page in five folds. Raises ValueError
    where too few are left to train on.
    """
    folds = {_fold(name, case) for name, cases in asked for case in cases}
    gates = {fold: _gate_without(fold, asked, key, threshold) for fold in sorted(folds)}
    return [
        (name, [_judged(gates[_fold(name, case)], case, key, threshold) for case in cases])
        for name, cases in asked
    ]


def _fold(name: str, case: Case) -> str:
    if case.row.half is not None:
        return f"half {case.row.half}"
    digest = hashlib.sha256(f"{name}/{case.row.group}".encode()).digest()
    return f"fold {digest[0] % _FOLDS}"


def _gate_without(fold: str, asked: CasesBySet, key: str, threshold: float) -> Gate:
    rest: Sequence[tuple[str, list[Case]]] = [
        (name, [case for case in cases if _fold(name, case) != fold]) for name, cases in asked
    ]
    calibration = fit(samples_of(rest), "judged unseen")
    file = load_gate_file().model_copy(update={"calibrations": {key: calibration}})
    return Gate(file, threshold)


def _judged(gate: Gate, case: Case, key: str, threshold: float) -> Case:
    if not case.reached_index:
        return case
    probability = gate.probability(case.features, key)
    if probability >= threshold:
        partial = case.features.get("composer_partial", 0.0) > 0
        return replace(case, confidence=probability, level="partial" if partial else "sure")
    return replace(case, confidence=probability, level="unsure" if case.level == "unsure" else None)


_APART = frozenset({"generic", "human", "multi_turn"})
"""Kinds that say nothing of the gate: no pages, or a rewriting first."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One way of answering over all sets that were measured.

    ``cases`` are those of each set as a gate judged them that never saw them; ``certified`` holds
    a threshold chosen on either half of a set and judged on the other, None where a half allows
    none.
    """

    measured: Mapping[str, Measured]
    cases: Mapping[str, Sequence[Case]]
    compared: Mapping[str, Sequence[Comparison]]
    certified: Mapping[str, tuple[HeldOut | None, HeldOut | None]]


def findings(measured: Sequence[Measured], key: str, gate: GateFile) -> Findings:
    """Return what the sets say together.

    Args:
        measured: the sets in full, none with missing replies.
        key: the calibration that is fitted again for the training sets, in folds.
        gate: the gate's file in force; where it lacks the calibration nothing is fitted, and the
            training sets are shown as they were judged.
    """
    training: CasesBySet = [(each.of.name, each.cases) for each in measured if each.of.trains_gate]
    threshold = next((each.report.operation.threshold for each in measured), None)
    if key in gate.calibrations and threshold is not None:
        training = judge_unseen(training, key, threshold)
    judged = {each.of.name: each.cases for each in measured} | dict(training)
    with_short = {each.of.name: _with_short(each, judged[each.of.name]) for each in measured}
    mixed = {name: _mix(cases) for name, cases in judged.items()}
    chosen = best_features([(name, mixed[name]) for name, _ in training], EXPECTED_SIGNS)
    return Findings(
        measured=with_short,
        cases=mixed,
        compared=comparisons(list(mixed.items()), chosen, EXPECTED_SIGNS),
        certified={name: _both_ways(cases) for name, cases in mixed.items()},
    )


def _with_short(measured: Measured, judged: Sequence[Case]) -> Measured:
    """Add the sample's short questions, each half judged by a gate that never saw it."""
    halves = [case for case in judged if case.row.half is not None]
    if measured.of.name != SAMPLE or not halves:
        return measured
    operation = measured.report.operation
    slices = {**operation.slices, UNSEEN: of_slice(halves)}
    changed = operation.model_copy(update={"slices": slices})
    return replace(measured, report=measured.report.model_copy(update={"operation": changed}))


def _mix(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.reached_index and case.kind not in _APART]


def _both_ways(cases: Sequence[Case]) -> tuple[HeldOut | None, HeldOut | None]:
    """Choose on one half and judge on the other, then the other way; pages stay whole."""
    halves: tuple[list[tuple[float, bool]], list[tuple[float, bool]]] = ([], [])
    for case in cases:
        digest = hashlib.sha256(case.row.group.encode()).digest()
        right = case.right or case.right_in_part
        halves[digest[0] % 2].append((case.confidence or 0.0, right))
    first, second = halves
    return held_out(first, second), held_out(second, first)
