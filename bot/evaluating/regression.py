"""A logistic regression on labelled answers, and how it predicts what was held out.

Needs requirements-evals.txt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from bot.evaluating.samples import Sample
from bot.gating.gate_file import Feature
from rag.evaluation.certificate import upper_bound
from rag.evaluation.metrics import Pairs, aurc

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TARGET_ERROR = 0.05
"""The share of wrong answers, among those that are given, that a threshold is set for."""

_THRESHOLD_CONFIDENCE = 0.8
_THRESHOLD_DIGITS = 2
_FOLDS = 5
_CONSTANT = 1e-6


def weights_of(samples: Sequence[Sample]) -> Floats:
    """Return the samples' weights, one on average."""
    raw = np.array([sample.weight for sample in samples])
    return np.asarray(raw * len(samples) / raw.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Table:
    """The samples as numbers, one column a feature; what is absent counts as average."""

    names: tuple[str, ...]
    mean: Floats
    scale: Floats
    lowest: Floats
    highest: Floats
    standardised: Floats

    @classmethod
    def of(cls, samples: Sequence[Sample], names: Sequence[str]) -> Table:
        """Standardise the features; beyond the 1st and the 99th percentile counts as there."""
        raw = np.array([[s.features.get(name, math.nan) for name in names] for s in samples])
        lowest, highest = np.nanquantile(raw, (0.01, 0.99), axis=0)
        clipped = np.clip(raw, lowest, highest)
        mean, scale = np.nanmean(clipped, axis=0), np.nanstd(clipped, axis=0)
        scale = np.where(scale > _CONSTANT, scale, 1.0)
        standardised = np.nan_to_num((clipped - mean) / scale)
        return cls(tuple(names), mean, scale, lowest, highest, standardised)

    def described(self, coefficients: Floats) -> tuple[Feature, ...]:
        """Return the features as the gate's file keeps them."""
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
class Problem:
    """A table with its labels and weights; samples of one group are held out together."""

    table: Floats
    right: Labels
    weights: Floats
    groups: Sequence[str]

    def fitted(self, strength: float) -> tuple[Floats, float]:
        """Return the coefficients and the intercept."""
        model = _regression(strength).fit(self.table, self.right, sample_weight=self.weights)
        return np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0])

    def predicted(self, strength: float) -> Floats:
        """Return each sample's probability from a regression that saw none of its group."""
        found = np.zeros(len(self.right))
        folds = GroupKFold(min(_FOLDS, len(set(self.groups))))
        for seen, unseen in folds.split(self.table, self.right, self.groups):
            if len(set(self.right[seen].tolist())) == 1:
                found[unseen] = self.right[seen][0]
                continue
            model = _regression(strength).fit(
                self.table[seen], self.right[seen], sample_weight=self.weights[seen]
            )
            found[unseen] = model.predict_proba(self.table[unseen])[:, 1]
        return found

    def loss(self, strength: float) -> float:
        """Return the weighted Brier score of what is predicted."""
        wrong_by = (self.predicted(strength) - self.right) ** 2
        return float(np.average(wrong_by, weights=self.weights))

    def threshold(self, strength: float) -> float | None:
        """Return the lowest threshold that keeps TARGET_ERROR on what was held out, or None.

        The upper bound of the error counts, for the lowest of many thresholds is a lucky one. Every
        answer counts alike, so half of the questions have none where each was also withheld: more
        than in use, to be on the safe side.
        """
        predicted = np.round(self.predicted(strength), _THRESHOLD_DIGITS)
        for tried in np.unique(predicted):
            accepted = self.right[predicted >= tried]
            wrong = int((accepted == 0).sum())
            if upper_bound(wrong, len(accepted), _THRESHOLD_CONFIDENCE) <= TARGET_ERROR:
                return float(tried)
        return None

    def figures(self, strength: float) -> dict[str, float]:
        """Return the cross-validated figures, unweighted but for the Brier score."""
        predicted = self.predicted(strength)
        right, wrong = predicted[self.right == 1], predicted[self.right == 0]
        found = {
            "auroc": Pairs.of(right.tolist(), wrong.tolist()).auroc(),
            "weighted_brier": self.loss(strength),
            "aurc": aurc(predicted.tolist(), [bool(label) for label in self.right]),
        }
        return {name: round(value, 4) for name, value in found.items()}


def _regression(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=2000)
