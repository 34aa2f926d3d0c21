"""Fits the gate's regression on labelled answers; needs requirements-evals.txt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from bot.evaluating.samples import Asked, Sample, samples_of
from bot.gating.gate import KEYWORD_ONLY
from bot.gating.gate_file import Calibration, Feature, GateFile, TrainedOn
from rag.evaluation.calibration import aurc
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
    "tokens_best": 1,
    "tokens_lead": 1,
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
    "composer_section_score": 1,
    "composer_section_gap": 1,
    "composer_section_lead": 1,
    "supported_share": 1,
    "composer_answerable": 1,
    "composer_self_rating": 1,
    "composer_partial": -1,
    "composer_conflict": -1,
    "composer_claims_kept_share": 1,
    "composer_quote_exact_share": 1,
    "composer_figures_quoted": 1,
    "composer_words_supported": 1,
    "composer_lines_found_share": 1,
    "composer_wording_literal": 1,
}
"""The features a regression may use, and the only sign each may have.

A coefficient of the other sign fits an accident of the training set; its feature is left out.
"""

_FOLDS = 5
_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_LEAST_SAMPLES = 50
_CONSTANT = 1e-6


def fit(samples: Sequence[Sample], label: str) -> Calibration:
    """Return the regression, its strength and its figures by cross-validation over pages.

    Args:
        samples: labelled answers.
        label: what the probability is the probability of, in words.

    Raises ValueError when there are fewer than 50 samples, or one label alone.
    """
    right = np.array([sample.right for sample in samples], dtype=np.int64)
    if len(samples) < _LEAST_SAMPLES or not 0 < right.sum() < len(samples):
        raise ValueError(
            f"{len(samples)} labelled answers, {int(right.sum())} of them right, are too few to "
            f"train on: at least {_LEAST_SAMPLES}, with right and wrong ones, are needed."
        )
    names = _usable(samples)
    weights = _weights(samples)
    groups = [f"{sample.data}/{sample.group}" for sample in samples]
    while True:
        table = _Table.of(samples, names)
        problem = _Problem(table.standardised, right, weights, groups)
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
        scale = np.where(scale > _CONSTANT, scale, 1.0)
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


def _usable(samples: Sequence[Sample]) -> list[str]:
    present = Counter(name for sample in samples for name in sample.features)
    return [name for name in EXPECTED_SIGNS if present[name]]


@dataclass(frozen=True, slots=True)
class _Problem:
    """A table with its labels, weights and groups."""

    table: Floats
    right: NDArray[np.int64]
    weights: Floats
    groups: Sequence[str]

    def fitted(self, strength: float) -> tuple[Floats, float]:
        model = _regression(strength).fit(self.table, self.right, sample_weight=self.weights)
        return np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0])

    def predicted(self, strength: float) -> Floats:
        """Return each sample's probability from a regression that saw no question on its page."""
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
        wrong_by = (self.predicted(strength) - self.right) ** 2
        return float(np.average(wrong_by, weights=self.weights))

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


def _weights(samples: Sequence[Sample]) -> Floats:
    """Return the samples' weights, one on average."""
    raw = np.array([sample.weight for sample in samples])
    return np.asarray(raw * len(samples) / raw.sum(), dtype=np.float64)


def _regression(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=2000)


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


def gate_file(asked: Mapping[str, Asked], earlier: GateFile) -> GateFile:
    """Return the gate's file with every calibration that there are cases for fitted again.

    Args:
        asked: the cases by the name of the calibration: ``extractive``, ``extractive.keyword``,
            and ``model:<name>:<prompt>`` for a model and a version of its prompt.
        earlier: calibrations of other models, or of other prompts, are kept from here.
    """
    kept = {name: each for name, each in earlier.calibrations.items() if name.startswith("model")}
    fitted = {name: fit(samples_of(cases), _label(name)) for name, cases in asked.items()}
    return earlier.model_copy(
        update={"date": datetime.now(UTC).date(), "calibrations": kept | fitted}
    )


def _label(name: str) -> str:
    if name.startswith("model:"):
        return "what is claimed holds every key fact, or names what is missing, from a gold page"
    alone = ", with keyword search alone" if name.endswith(KEYWORD_ONLY) else ""
    return f"the quotes hold every key fact and cite a gold page{alone}"
