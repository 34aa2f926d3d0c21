"""Turn the features of an answer into one calibrated probability that it is right.

A logistic regression with coefficients from gate.json. A model's answers for which no calibration
was trained are judged by the careful default: fixed steps down from 0.9 for each doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from bot.answering.gate_file import (
    CAREFUL,
    UNSURE_FROM,
    Calibration,
    Feature,
    GateFile,
    is_of_model,
)
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import ConfidenceLevel

CAREFUL_RULE = "careful_rule"
"""The name of this rule's number as a feature: what training saw too rarely keeps a weight so."""

WEIGHED_BY_RULE = frozenset(
    {
        "supported_share",
        "composer_answerable",
        "composer_claims_kept_share",
        "composer_figures_quoted",
        "composer_partial",
        "composer_self_rating",
    }
)
"""The features that the rule is made of; beside it they would count twice."""

_CAREFUL_BEST = 0.9
_RATING_COST = 0.6
_MISSING_COST = 0.2
_CHECK_COST = 0.3
_CAREFUL_DIGITS = 2
"""Sums of these steps are compared with thresholds: 0.9 - 0.3 - 0.2 is to be 0.4 exactly."""


def careful_probability(features: Mapping[str, float]) -> float:
    """Return a rough chance that a model's answer is right, 0..0.9.

    It starts at 0.9 and each doubt lowers it by a fixed step: the model's own certainty is not
    high (medium 0.3, low 0.6; none given counts as low), it says that something is missing
    (0.2), a claim was dropped by the checks, or a figure is in no quote (0.3 each). With the usual
    bounds 0.65 and 0.4, "certain, nothing missing, every claim kept" is sure, "certain, something
    missing" is partial, one failed check or a medium certainty is unsure, two of these go to a
    person. The steps order answers; they are no measured frequencies.
    """
    if not features.get("composer_answerable", 1.0):
        return 0.0
    doubts = (
        _RATING_COST * (1 - features.get("composer_self_rating", 0.0)),
        _MISSING_COST * bool(features.get("composer_partial")),
        _CHECK_COST * (features.get("supported_share", 1.0) < 1),
        _CHECK_COST * (features.get("composer_figures_quoted", 1.0) < 1),
    )
    return max(0.0, round(_CAREFUL_BEST - sum(doubts), _CAREFUL_DIGITS))


def with_careful_rule(features: Mapping[str, float]) -> Mapping[str, float]:
    """Return the features of a model's answer with the rule's number among them."""
    return {**features, CAREFUL_RULE: careful_probability(features)}


GATE_FILE = Path(__file__).with_name("gate.json")

KEYWORD_ONLY = ".keyword"
"""Suffix of the calibration that is used where there is no embedder."""

THRESHOLD = 0.65
"""Holds where neither a certificate, nor the settings, nor training name one."""

_VECTOR, _KEYWORD = "vector_best", "keyword_best"


@dataclass(frozen=True, slots=True)
class FeatureWeight:
    """What one feature did to a probability.

    ``place`` is where its value lies between the least (0) and the most (1) that is usual, and
    ``push`` what it added to the log-odds, against an average value.
    """

    name: str
    place: float
    push: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """How likely an answer is right, and from where on it is given, or shown as a guess.

    ``by`` is the name of the calibration, CAREFUL, or "" where nothing judged.
    """

    probability: float
    threshold: float
    unsure_from: float = UNSURE_FROM
    by: str = ""

    def level(self, missing: str | None) -> ConfidenceLevel | None:
        """Return the level of an answer that lacks what is ``missing``; None: ask a person.

        A probability of 0 is a veto, and no threshold lets that through.
        """
        if not self.probability:
            return None
        if self.probability >= self.threshold:
            return "partial" if missing else "sure"
        return "unsure" if self.probability >= self.unsure_from else None


class Gate:
    """Judges by logistic regression, with coefficients from a file; plain arithmetic.

    A calibration is called "extractive" or as ``calibration_name`` says. A model's answers for
    which there is none are judged by ``careful_probability``.

    Args:
        file: the calibrations by name.
        confidence_threshold: what a probability must reach while no certificate exists; None
            leaves it to each calibration, and to THRESHOLD where that names none.
    """

    def __init__(self, file: GateFile, confidence_threshold: float | None = None) -> None:
        self._calibrations = file.calibrations
        self._threshold = confidence_threshold

    def judge(self, features: Mapping[str, float], name: str) -> Judgement:
        """Return what the calibration of that name makes of an answer."""
        found = self._found(features, name)
        return Judgement(
            self.probability(features, name),
            self.threshold(found or name),
            self._calibrations[found].unsure_from if found else UNSURE_FROM,
            found or (CAREFUL if is_of_model(name) else ""),
        )

    def probability(self, features: Mapping[str, float], name: str) -> float:
        """Return how likely the answer is right, 0..1; 0 when a veto holds or nothing is known."""
        if veto(features) is not None:
            return 0.0
        calibration = self._calibration(features, name)
        if calibration is not None:
            return _logistic(calibration, _features_for(features, name))
        return careful_probability(features) if is_of_model(name) else 0.0

    def weights(self, features: Mapping[str, float], name: str) -> Sequence[FeatureWeight]:
        """Return what each feature that counts did to the probability; none when nothing did."""
        calibration = self._calibration(features, name)
        return (
            ()
            if calibration is None
            else _feature_weights(calibration, _features_for(features, name))
        )

    def threshold(self, name: str) -> float:
        """Return the threshold: certified, else configured, else chosen in training."""
        calibration = self._calibrations.get(name)
        if calibration is not None and calibration.certificate is not None:
            return calibration.certificate.threshold
        if self._threshold is not None:
            return self._threshold
        trained = None if calibration is None else calibration.threshold
        return THRESHOLD if trained is None else trained

    def knows(self, name: str) -> bool:
        """Tell whether there is a calibration of that name."""
        return name in self._calibrations

    def _calibration(self, features: Mapping[str, float], name: str) -> Calibration | None:
        return self._calibrations.get(self._found(features, name))

    def _found(self, features: Mapping[str, float], name: str) -> str:
        """Name the calibration that fits what was searched with; "" where there is none."""
        if _VECTOR not in features and self.knows(name + KEYWORD_ONLY):
            return name + KEYWORD_ONLY
        return name if self.knows(name) else ""


def load_gate(confidence_threshold: float | None = None, path: Path = GATE_FILE) -> Gate:
    """Make the gate of its file. Raises SettingInvalid when it is missing or malformed."""
    return Gate(load_gate_file(path), confidence_threshold)


def load_gate_file(path: Path = GATE_FILE) -> GateFile:
    """Read the gate's file. Raises SettingInvalid when it is missing or malformed."""
    try:
        return GateFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingInvalid(
            f"The gate's file {str(path)!r} can't be used: {error}. "
            "Restore it, or write a new one with `make train`."
        ) from error


def veto(features: Mapping[str, float]) -> str | None:
    """Return what rules an answer out whatever else speaks for it, in words, or None."""
    if not features.get("has_claims"):
        return "nothing was quoted"
    if _VECTOR not in features and _KEYWORD not in features:
        return "the search gave no signals"
    if features.get("uncovered_identifiers"):
        return "a number or code in the question is in no passage"
    return None


def _features_for(features: Mapping[str, float], name: str) -> Mapping[str, float]:
    return with_careful_rule(features) if is_of_model(name) else features


def _logistic(calibration: Calibration, features: Mapping[str, float]) -> float:
    """Weigh the standardised features; one that is absent counts as average.

    Values beyond what was seen in training are pulled to its edge: there the regression knows
    nothing.
    """
    total = calibration.intercept + sum(
        each.push for each in _feature_weights(calibration, features)
    )
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))


def _feature_weights(
    calibration: Calibration, features: Mapping[str, float]
) -> Sequence[FeatureWeight]:
    known = ((each, features.get(each.name)) for each in calibration.features)
    return [
        _feature_weight(feature, value)
        for feature, value in known
        if value is not None and math.isfinite(value)
    ]


def _feature_weight(feature: Feature, value: float) -> FeatureWeight:
    seen = min(feature.highest, max(feature.lowest, value))
    range_ = feature.highest - feature.lowest
    return FeatureWeight(
        name=feature.name,
        place=(seen - feature.lowest) / range_ if range_ else 0.5,
        push=feature.coefficient * (seen - feature.mean) / feature.scale,
    )
