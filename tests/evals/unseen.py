"""Judges each question of the training sets by a gate that never saw its page, or its half."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from bot.answering.evaluation.gate_training import fit
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.training_samples import CasesBySet, samples_of
from bot.answering.gate import Gate, load_gate_file

_FOLDS = 5


def unseen(asked: CasesBySet, key: str, threshold: float) -> list[tuple[str, list[Case]]]:
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
