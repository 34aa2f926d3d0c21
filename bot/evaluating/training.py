"""Fits the gate's regression on labelled answers; needs requirements-evals.txt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

from bot.gate_file import Calibration, Feature, TrainedOn
from rag.evaluation.calibration import aurc, brier, coverage_at, debiased_ece
from rag.evaluation.ranking import Pairs

Floats = NDArray[np.float64]

EXPECTED_SIGNS: Mapping[str, int] = {
    "score_best": 1,
    "score_gap_2": 1,
    "score_gap_5": 1,
    "score_mean": 1,
    "score_spread": 1,
    "keyword_best": 1,
    "vector_best": 1,
    "vector_mean": 1,
    "rank_agreement": 1,
    "pages_close": -1,
    "best_page_share": 1,
    "coverage_best": 1,
    "coverage_first": 1,
    "coverage_top_3": 1,
    "rarest_uncovered": -1,
    "composer_best_quote_score": 1,
    "composer_best_quote_coverage": 1,
    "composer_best_quote_cosine": 1,
    "composer_quotes_coverage": 1,
    "composer_lead_over_other_pages": 1,
    "composer_answer_type_missing": -1,
}
"""The features a regression may use, and the only sign each may have.

A coefficient of the other sign fits an accident of the training set; its feature is left out.
"""

_FOLDS = 5
_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3)
_LEAST_SAMPLES = 50


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer with its features; ``group`` keeps questions on the same page in one fold."""

    features: Mapping[str, float]
    right: bool
    group: str
    data: str


def fit(samples: Sequence[Sample], label: str, *, retrieval_only: bool = False) -> Calibration:
    """Return the regression, its strength and its figures by cross-validation over pages.

    Args:
        samples: labelled answers.
        label: what the probability is the probability of, in words.
        retrieval_only: leave the composer's own signals out.

    Raises ValueError when there are fewer than 50 samples, or one label alone.
    """
    right = np.array([sample.right for sample in samples], dtype=np.int64)
    if len(samples) < _LEAST_SAMPLES or not 0 < right.sum() < len(samples):
        raise ValueError(
            f"{len(samples)} labelled answers, {int(right.sum())} of them right, are too few to "
            f"train on: at least {_LEAST_SAMPLES}, with right and wrong ones, are needed."
        )
    names = _usable(samples, retrieval_only=retrieval_only)
    groups = [sample.group for sample in samples]
    while True:
        table = _Table.of(samples, names)
        strength = _best_strength(table.standardised, right, groups)
        coefficients, intercept = _fitted(table.standardised, right, strength)
        wrong = _most_wrongly_signed(names, coefficients)
        if wrong is None:
            break
        names = [name for name in names if name != wrong]
    predicted = _predicted(table.standardised, right, groups, strength)
    return Calibration(
        label=label,
        intercept=round(intercept, 6),
        features=table.described(coefficients),
        trained_on=_trained_on(samples),
        validation=_figures(predicted, right) | {"regularisation": strength},
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The samples as numbers, one column a feature; what is absent counts as average."""

    names: tuple[str, ...]
    mean: Floats
    scale: Floats
    lowest: Floats
    highest: Floats
    standardised: Floats

    @classmethod
    def of(cls, samples: Sequence[Sample], names: Sequence[str]) -> _Table:
        raw = np.array([[s.features.get(name, math.nan) for name in names] for s in samples])
        lowest, highest = np.nanquantile(raw, (0.01, 0.99), axis=0)
        clipped = np.clip(raw, lowest, highest)
        mean, scale = np.nanmean(clipped, axis=0), np.nanstd(clipped, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        standardised = np.nan_to_num((clipped - mean) / scale)
        return cls(tuple(names), mean, scale, lowest, highest, standardised)

    def described(self, coefficients: Floats) -> tuple[Feature, ...]:
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


def _usable(samples: Sequence[Sample], *, retrieval_only: bool) -> list[str]:
    present = Counter(name for sample in samples for name in sample.features)
    return [
        name
        for name in EXPECTED_SIGNS
        if present[name] and not (retrieval_only and name.startswith("composer_"))
    ]


def _regression(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=2000)


def _fitted(table: Floats, right: NDArray[np.int64], strength: float) -> tuple[Floats, float]:
    model = _regression(strength).fit(table, right)
    return np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0])


def _predicted(
    table: Floats, right: NDArray[np.int64], groups: Sequence[str], strength: float
) -> Floats:
    """Return each sample's probability from a regression that saw no question on its page."""
    folds = GroupKFold(min(_FOLDS, len(set(groups))))
    found = cross_val_predict(
        _regression(strength), table, right, groups=groups, cv=folds, method="predict_proba"
    )
    return np.asarray(found[:, 1], dtype=np.float64)


def _best_strength(table: Floats, right: NDArray[np.int64], groups: Sequence[str]) -> float:
    def loss(strength: float) -> float:
        return brier(_predicted(table, right, groups, strength).tolist(), right.tolist())

    return min(_STRENGTHS, key=loss)


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


def _figures(predicted: Floats, right: NDArray[np.int64]) -> dict[str, float]:
    labels = [bool(label) for label in right]
    stated = predicted.tolist()
    pairs = Pairs.of(predicted[right == 1].tolist(), predicted[right == 0].tolist())
    figures = {
        "auroc": pairs.auroc(),
        "brier": brier(stated, labels),
        "debiased_ece": debiased_ece(stated, labels),
        "aurc": aurc(stated, labels),
        "coverage_at_5_percent_error": coverage_at(0.05, stated, labels),
        "coverage_at_20_percent_error": coverage_at(0.2, stated, labels),
    }
    return {name: round(value, 4) for name, value in figures.items()}
