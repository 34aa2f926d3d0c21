"""Fits the gate's regression on labelled answers; needs requirements-evals.txt.

With many labelled answers all features take part, shrunk alike; with few, those few that predict
best on a set that was held out (bot.evaluating.feature_selection).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from bot.evaluating.feature_selection import forward_selected, most_features
from bot.evaluating.regression import Floats, Labels, Problem, Table, weights_of
from bot.evaluating.samples import Asked, Sample, samples_of
from bot.gating.careful import CAREFUL_RULE, WEIGHED_BY_RULE
from bot.gating.gate import KEYWORD_ONLY
from bot.gating.gate_file import Calibration, GateFile, TrainedOn

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
    CAREFUL_RULE: 1,
}
"""The features a regression may use, and the only sign each may have.

A coefficient of the other sign fits an accident of the training set; its feature is left out.
"""

_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_LEAST_SAMPLES = 50
_SELECTING_STRENGTH = 0.3
_LEAST_SETS = 3
"""From so many sets on features are selected by how they predict a set that was held out."""


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
    weights = weights_of(samples)
    groups = [f"{sample.data}/{sample.group}" for sample in samples]
    names = _selected(samples, right, weights)
    while True:
        table = Table.of(samples, names)
        problem = Problem(table.standardised, right, weights, groups)
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
    """Return what is held out together to see how a regression carries over: a set, or a page."""
    sets = [sample.data for sample in samples]
    by_page = [f"{sample.data}/{sample.group}" for sample in samples]
    return sets if len(set(sets)) >= _LEAST_SETS else by_page


def _threshold(samples: Sequence[Sample], problem: Problem, strength: float) -> float | None:
    """Return the threshold for a model's answers; without a model TARGET_ERROR is out of reach."""
    return problem.threshold(strength) if CAREFUL_RULE in _present(samples) else None


def _selected(samples: Sequence[Sample], right: Labels, weights: Floats) -> list[str]:
    """Return the features that the regression gets, in the order of EXPECTED_SIGNS."""
    names = _usable(samples)
    table = Table.of(samples, names).standardised
    folds = _folds(samples)

    def loss(chosen: Sequence[str]) -> float | None:
        columns = table[:, [names.index(name) for name in chosen]]
        problem = Problem(columns, right, weights, folds)
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
    """Return the known features; the parts of the careful rule give way to the rule itself."""
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
