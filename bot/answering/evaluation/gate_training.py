"""Fit the gate's regression on labelled answers.

With many labelled answers all features are used, shrunk alike; with few, only those that predict a
held-out set best (bot.answering.evaluation.training_samples).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from bot.answering.evaluation.certificate import upper_bound
from bot.answering.evaluation.metrics import Pairs, aurc, brier, debiased_ece
from bot.answering.evaluation.training_samples import (
    EXPECTED_SIGNS,
    CasesBySet,
    Sample,
    forward_selected,
    most_features,
    samples_of,
)
from bot.answering.gate import CAREFUL_RULE, KEYWORD_ONLY, WEIGHED_BY_RULE
from bot.answering.gate_file import Calibration, Feature, GateFile, TrainedOn

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TARGET_ERROR = 0.05
"""The share of wrong answers, among those given, that a threshold aims at."""

_THRESHOLD_CONFIDENCE = 0.8
_THRESHOLD_DIGITS = 2
_FOLDS = 5
_CONSTANT = 1e-6


def sample_weights(samples: Sequence[Sample]) -> Floats:
    """Return the samples' weights, scaled to a mean of one."""
    raw = np.array([sample.weight for sample in samples])
    return np.asarray(raw * len(samples) / raw.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The samples as a standardised matrix, one column a feature; absent values are the mean."""

    names: tuple[str, ...]
    mean: Floats
    scale: Floats
    lowest: Floats
    highest: Floats
    standardised: Floats

    @classmethod
    def of(cls, samples: Sequence[Sample], names: Sequence[str]) -> FeatureTable:
        """Standardise the features, clipped at their 1st and 99th percentiles."""
        raw = np.array([[s.features.get(name, math.nan) for name in names] for s in samples])
        lowest, highest = np.nanquantile(raw, (0.01, 0.99), axis=0)
        clipped = np.clip(raw, lowest, highest)
        mean, scale = np.nanmean(clipped, axis=0), np.nanstd(clipped, axis=0)
        scale = np.where(scale > _CONSTANT, scale, 1.0)
        standardised = np.nan_to_num((clipped - mean) / scale)
        return cls(tuple(names), mean, scale, lowest, highest, standardised)

    def described(self, coefficients: Floats) -> tuple[Feature, ...]:
        """Return the features with their coefficients, as stored in the gate file."""
        return tuple(
            Feature(
                name=name,
                mean=round(float(self.mean[i]), 6),
                scale=round(float(self.scale[i]), 6),
                lowest=round(float(self.lowest[i]), 6),
                highest=round(float(self.highest[i]), 6),
                coefficient=round(float(coefficients[i]), 6),
            )
            for i, name in enumerate(self.names)
        )


@dataclass(frozen=True, slots=True)
class RegressionProblem:
    """A feature matrix with labels and weights; samples of one group are held out together."""

    table: Floats
    right: Labels
    weights: Floats
    groups: Sequence[str]

    def fitted(self, strength: float) -> tuple[Floats, float]:
        """Return the coefficients and the intercept."""
        return logistic_fit(self.table, self.right, self.weights, strength)

    def predicted(self, strength: float) -> Floats:
        """Return each sample's probability from a regression that was fitted without its group."""
        found = np.zeros(len(self.right))
        for unseen in grouped_folds(self.groups, _FOLDS):
            seen = ~unseen
            if len(set(self.right[seen].tolist())) == 1:
                # On a single label the intercept would have no bound.
                found[unseen] = self.right[seen][0]
                continue
            coefficients, intercept = logistic_fit(
                self.table[seen], self.right[seen], self.weights[seen], strength
            )
            found[unseen] = _sigmoid(self.table[unseen] @ coefficients + intercept)
        return found

    def loss(self, strength: float) -> float:
        """Return the weighted Brier score of the cross-validated predictions."""
        wrong_by = (self.predicted(strength) - self.right) ** 2
        return float(np.average(wrong_by, weights=self.weights))

    def threshold(self, strength: float) -> float | None:
        """Return the lowest threshold that keeps TARGET_ERROR on held-out samples, or None.

        The upper bound of the error counts, because the lowest of many thresholds is a lucky one.
        Every answer weighs the same, so half of the questions have no answer where each was also
        asked with its pages withheld: more than in use, to be on the safe side.
        """
        predicted = np.round(self.predicted(strength), _THRESHOLD_DIGITS)
        for tried in np.unique(predicted):
            accepted = self.right[predicted >= tried]
            wrong = int((accepted == 0).sum())
            if upper_bound(wrong, len(accepted), _THRESHOLD_CONFIDENCE) <= TARGET_ERROR:
                return float(tried)
        return None

    def figures(self, strength: float) -> dict[str, float]:
        """Return the cross-validated figures; only the Brier score is weighted."""
        predicted = self.predicted(strength)
        right, wrong = predicted[self.right == 1], predicted[self.right == 0]
        found = {
            "auroc": Pairs.of(right.tolist(), wrong.tolist()).auroc(),
            "weighted_brier": self.loss(strength),
            "aurc": aurc(predicted.tolist(), [bool(label) for label in self.right]),
        }
        return {name: round(value, 4) for name, value in found.items()}


def logistic_fit(
    table: Floats, right: Labels, weights: Floats, strength: float
) -> tuple[Floats, float]:
    """Return coefficients and intercept of a logistic regression with an L2 penalty.

    The weighted log-loss times ``strength``, plus half the squared length of the coefficients, is
    minimised by Newton's method with halved steps (Boyd and Vandenberghe, "Convex Optimization",
    9.5). The intercept is not shrunk. Both labels must occur.
    """
    columns = np.column_stack([table, np.ones(len(table))])
    shrunk = np.append(np.ones(table.shape[1]), 0.0)
    signs = np.where(right == 1, 1.0, -1.0)
    found = np.zeros(columns.shape[1])

    def loss(at: Floats) -> float:
        wrong = np.logaddexp(0.0, -signs * (columns @ at))
        return float(strength * (weights @ wrong) + (shrunk * at) @ at / 2)

    for _ in range(_NEWTON_STEPS):
        likely = _sigmoid(columns @ found)
        slope = strength * (columns.T @ (weights * (likely - right))) + shrunk * found
        if float(np.abs(slope).max()) < _FLAT:
            break
        spread = strength * weights * likely * (1 - likely)
        curve = (columns.T * spread) @ columns + np.diag(shrunk + _RIDGE)
        step = np.linalg.solve(curve, slope)
        before, length = loss(found), 1.0
        while loss(found - length * step) > before and length > _SHORTEST_STEP:
            length /= 2
        found = found - length * step
    return np.asarray(found[:-1], dtype=np.float64), float(found[-1])


_NEWTON_STEPS = 100
_FLAT = 1e-10
_RIDGE = 1e-12
"""Keeps the curvature invertible where all answers are nearly certain."""
_SHORTEST_STEP = 1e-8


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))), dtype=np.float64)


def grouped_folds(groups: Sequence[str], folds: int) -> list[NDArray[np.bool_]]:
    """Return for each fold which samples are in it; a group is never divided.

    The largest groups are dealt out first, each to the fold that has the fewest samples.
    """
    _, of_sample, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    count = min(folds, len(sizes))
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    filled = np.zeros(count)
    for group in np.argsort(sizes, kind="stable")[::-1]:
        fold_of[group] = int(np.argmin(filled))
        filled[fold_of[group]] += sizes[group]
    return [fold_of[of_sample] == fold for fold in range(count)]


_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_LEAST_SAMPLES = 50
_SELECTING_STRENGTH = 0.3
_LEAST_SETS = 3
"""With this many sets or more, features are selected by their loss on a held-out set."""


def fit(samples: Sequence[Sample], label: str) -> Calibration:
    """Return the regression, its strength and its figures by cross-validation over pages.

    Args:
        samples: labelled answers.
        label: the event that the probability refers to, in words.

    Raises ValueError when there are fewer than 50 samples, or one label alone.
    """
    right = np.array([sample.right for sample in samples], dtype=np.int64)
    if len(samples) < _LEAST_SAMPLES or not 0 < right.sum() < len(samples):
        raise ValueError(
            f"{len(samples)} labelled answers, {int(right.sum())} of them right, are too few to "
            f"train on: at least {_LEAST_SAMPLES}, with right and wrong ones, are needed."
        )
    weights = sample_weights(samples)
    groups = [f"{sample.data}/{sample.group}" for sample in samples]
    names = _selected(samples, right, weights)
    while True:
        table = FeatureTable.of(samples, names)
        problem = RegressionProblem(table.standardised, right, weights, groups)
        strength = min(_STRENGTHS, key=problem.loss)
        coefficients, intercept = problem.fitted(strength)
        wrong = _most_wrongly_signed(names, coefficients)
        if wrong is None:
            break
        names = [name for name in names if name != wrong]
    return Calibration(
        label=label,
        intercept=round(intercept, 6),
        features=table.described(coefficients),
        trained_on=_trained_on(samples),
        validation=problem.figures(strength) | {"regularisation": strength},
        threshold=_threshold(samples, replace(problem, groups=_folds(samples)), strength),
    )


def _folds(samples: Sequence[Sample]) -> list[str]:
    """Return the group of each sample for testing transfer: its set, or its page with few sets."""
    sets = [sample.data for sample in samples]
    by_page = [f"{sample.data}/{sample.group}" for sample in samples]
    return sets if len(set(sets)) >= _LEAST_SETS else by_page


def _threshold(
    samples: Sequence[Sample], problem: RegressionProblem, strength: float
) -> float | None:
    """Return the threshold for a model's answers, None for quotes.

    Without a model TARGET_ERROR is out of reach.
    """
    return problem.threshold(strength) if CAREFUL_RULE in _present(samples) else None


def _selected(samples: Sequence[Sample], right: Labels, weights: Floats) -> list[str]:
    """Return the features selected for the regression, in the order of EXPECTED_SIGNS."""
    names = _usable(samples)
    table = FeatureTable.of(samples, names).standardised
    folds = _folds(samples)

    def loss(chosen: Sequence[str]) -> float | None:
        columns = table[:, [names.index(name) for name in chosen]]
        problem = RegressionProblem(columns, right, weights, folds)
        coefficients, _ = problem.fitted(_SELECTING_STRENGTH)
        if _most_wrongly_signed(chosen, coefficients) is not None:
            return None
        return problem.loss(_SELECTING_STRENGTH)

    count = int(right.sum())
    chosen = forward_selected(names, most_features(count, len(right) - count), loss)
    if not chosen:
        raise ValueError("No feature tells right answers from wrong ones in the way it should.")
    return [name for name in names if name in chosen]


def _usable(samples: Sequence[Sample]) -> list[str]:
    """Return the known features; where CAREFUL_RULE is present it replaces its own parts."""
    present = _present(samples)
    parts = WEIGHED_BY_RULE if CAREFUL_RULE in present else frozenset[str]()
    return [name for name in EXPECTED_SIGNS if name in present and name not in parts]


def _present(samples: Sequence[Sample]) -> frozenset[str]:
    return frozenset(name for sample in samples for name in sample.features)


def _most_wrongly_signed(names: Sequence[str], coefficients: Floats) -> str | None:
    wrong = {
        name: float(coefficient) * EXPECTED_SIGNS[name]
        for name, coefficient in zip(names, coefficients, strict=True)
        if coefficient * EXPECTED_SIGNS[name] < 0
    }
    return min(wrong, key=lambda name: wrong[name]) if wrong else None


def _trained_on(samples: Sequence[Sample]) -> tuple[TrainedOn, ...]:
    names = dict.fromkeys(sample.data for sample in samples)
    return tuple(
        TrainedOn(
            name=name,
            questions=sum(sample.data == name for sample in samples),
            right=sum(sample.right for sample in samples if sample.data == name),
        )
        for name in names
    )


def gate_file(asked: Mapping[str, CasesBySet], earlier: GateFile) -> GateFile:
    """Return the gate file with every calibration that has cases fitted again.

    Args:
        asked: the cases by the name of the calibration: ``extractive``, ``extractive.keyword``, and
            ``model:<name>:<prompt>`` for a model and a version of its prompt.
        earlier: the gate file whose other calibrations are kept, with their certificates.
    """
    fitted = {name: fit(samples_of(cases), _label(name)) for name, cases in asked.items()}
    today = datetime.now(UTC).date()
    calibrations = {**earlier.calibrations, **fitted}
    return earlier.model_copy(update={"date": today, "calibrations": calibrations})


def held_out_figures(
    cases: CasesBySet, calibration: Calibration, before: Callable[[Sample], float]
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the figures of the gate ``before``, and of a fitted calibration by cross-validation.

    Brier score, calibration error and area under the risk-coverage curve; lower is better. Every
    answer weighs the same.
    """
    samples = samples_of(cases)
    right = np.array([sample.right for sample in samples], dtype=np.int64)
    table = FeatureTable.of(samples, [each.name for each in calibration.features])
    groups = [f"{sample.data}/{sample.group}" for sample in samples]
    problem = RegressionProblem(table.standardised, right, sample_weights(samples), groups)
    after = problem.predicted(calibration.validation["regularisation"]).tolist()
    labels = [sample.right for sample in samples]
    return _figures([before(sample) for sample in samples], labels), _figures(after, labels)


def _figures(probabilities: Sequence[float], labels: Sequence[bool]) -> Mapping[str, float]:
    return {
        "Brier": brier(probabilities, labels),
        "ECE": debiased_ece(probabilities, labels),
        "AURC": aurc(probabilities, labels),
    }


def _label(name: str) -> str:
    if name.startswith("model:"):
        return "what is claimed holds every key fact, or names what is missing, from a gold page"
    alone = ", with keyword search alone" if name.endswith(KEYWORD_ONLY) else ""
    return f"the quotes hold every key fact and cite a gold page{alone}"
