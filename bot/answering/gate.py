"""Estimate from an answer's features one calibrated probability that it is right.

The estimate is a logistic regression with coefficients from gate.json. A model's answers without a
trained calibration are judged by the careful rule: from 0.9, minus a fixed step for each doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from bot.answering.gate_file import (
    CAREFUL,
    MODEL,
    UNSURE_FROM,
    Calibration,
    CertificateRecord,
    Feature,
    GateFile,
)
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import ConfidenceLevel
from bot.domain.texts import tr
from rag.types import Answer

CAREFUL_RULE = "careful_rule"
"""Feature that holds ``careful_probability``: so doubts too rare in training keep a weight."""

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
"""The inputs of the careful rule; as features beside CAREFUL_RULE they would count twice."""

_CAREFUL_BEST = 0.9
_RATING_COST = 0.6
_MISSING_COST = 0.2
_CHECK_COST = 0.3
_CAREFUL_DIGITS = 2
"""Decimals to round to: 0.9 - 0.3 - 0.2 must equal the threshold 0.4 exactly."""


def careful_probability(features: Mapping[str, float]) -> float:
    """Return a rough probability that a model's answer is right, 0..0.9; 0 if unanswerable.

    It starts at 0.9, and each doubt lowers it by a fixed step: a self-rating below high (medium
    0.3, low 0.6; none counts as low), something reported missing (0.2), a claim dropped by the
    checks, or a figure that is in no quote (0.3 each). With the usual thresholds 0.65 and 0.4, an
    answer rated high is sure, or partial if something is missing; one failed check or a medium
    rating makes it unsure, two of these escalate. The steps rank answers; they are not measured
    frequencies.
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
    """Return the features of a model's answer with CAREFUL_RULE added."""
    return {**features, CAREFUL_RULE: careful_probability(features)}


GATE_FILE = Path(__file__).with_name("gate.json")

KEYWORD_ONLY = ".keyword"
"""Suffix of the calibration for searches without vectors."""

THRESHOLD = 0.65
"""The default, if neither a certificate nor the settings nor training give a threshold."""

DEFINED = 0.9
"""The least probability of an answer that shows the definition of the term asked for."""

_VECTOR, _KEYWORD = "vector_best", "keyword_best"
_DEFINES = "composer_defines_term"


@dataclass(frozen=True, slots=True)
class FeatureWeight:
    """The effect of one feature on a probability.

    ``place`` is the value's position between the 1st (0) and 99th (1) percentile in training.
    ``push`` is the change of the log-odds compared with an average value.
    """

    name: str
    place: float
    push: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """The probability that an answer is right, and the thresholds it is compared with.

    From ``threshold`` up the answer is given, from ``unsure_from`` up shown as a guess. ``by`` is
    the name of the calibration, CAREFUL, or "" if nothing judged the answer.
    """

    probability: float
    threshold: float
    unsure_from: float = UNSURE_FROM
    by: str = ""

    def level(self, missing: str | None) -> ConfidenceLevel | None:
        """Return the confidence level of an answer; None if it must be escalated.

        ``missing`` is what the answer lacks, or None. A probability of 0 is a veto, which no
        threshold lets pass.
        """
        if not self.probability:
            return None
        if self.probability >= self.threshold:
            return "partial" if missing else "sure"
        return "unsure" if self.probability >= self.unsure_from else None


def calibration_name(model: str, prompt: str) -> str:
    """Return the name of the calibration for one model's answers to one prompt version.

    Args:
        model: The name that a model's calibrations are kept by
            (bot.domain.model_settings.LanguageModel.calibrated_as).
        prompt: The prompt with its version, such as ``answer@2``.
    """
    return f"{MODEL}:{model}:{prompt}"


def calibration_of(answer: Answer, model: str) -> str:
    """Return the name of the calibration for an answer composed by, or without, a model."""
    if answer.composer != MODEL:
        return answer.composer
    return calibration_name(model, answer.calls[-1].prompt if answer.calls else "")


def is_of_model(name: str) -> bool:
    """Return whether a calibration name, existing or not, is that of a model's answers."""
    return name == MODEL or name.startswith(f"{MODEL}:")


def calibration_in_words(name: str) -> str:
    """Describe a calibration in words, for the record."""
    if name == CAREFUL:
        return tr("Cautious default: there is no calibration for this model and prompt")
    if not is_of_model(name):
        return tr("Learned from answers without a model")
    model, _, prompt = name.removeprefix(f"{MODEL}:").rpartition(":")
    return tr("Learned from answers of {model} with {prompt}", model=model, prompt=prompt)


NOT_JUDGED = Judgement(0.0, 1.0, 1.0)
"""Stands in where nothing judged an answer, because there is none."""


class Gate:
    """Judge answers by logistic regression, with coefficients from a file.

    A calibration is named "extractive" or as ``calibration_name`` returns. A model's answers
    without a calibration are judged by ``careful_probability``.

    Args:
        file: The calibrations by name.
        confidence_threshold: The threshold of calibrations without a certificate; None takes each
            calibration's own, else THRESHOLD.

    Attributes:
        suspended: The calibrations whose certificate does not hold at present. It is the one value
            that changes while the gate serves (bot.learning.certificate_watch), always as a whole.
    """

    def __init__(self, file: GateFile, confidence_threshold: float | None = None) -> None:
        self._calibrations = file.calibrations
        self._threshold = confidence_threshold
        self.suspended: frozenset[str] = frozenset()

    def judge(self, features: Mapping[str, float], name: str) -> Judgement:
        """Return the judgement of an answer by the calibration of that name."""
        found = self._found(features, name)
        return Judgement(
            self.probability(features, name),
            self.threshold(found or name),
            self._calibrations[found].unsure_from if found else UNSURE_FROM,
            found or (CAREFUL if is_of_model(name) else ""),
        )

    def probability(self, features: Mapping[str, float], name: str) -> float:
        """Return the probability that the answer is right, 0..1; 0 for a veto.

        0 also for an answer without a model that has no calibration.
        """
        if veto(features) is not None:
            return 0.0
        calibration = self._calibration(features, name)
        if calibration is not None:
            found = _logistic(calibration, _features_for(features, name))
            return max(found, DEFINED) if features.get(_DEFINES) else found
        return careful_probability(features) if is_of_model(name) else 0.0

    def weights(self, features: Mapping[str, float], name: str) -> Sequence[FeatureWeight]:
        """Return the effect of each feature on the probability; () without a calibration."""
        calibration = self._calibration(features, name)
        return (
            ()
            if calibration is None
            else _feature_weights(calibration, _features_for(features, name))
        )

    def threshold(self, name: str) -> float:
        """Return the threshold: certified, else configured, else trained, else THRESHOLD.

        A suspended certificate gives a stricter one: an answer that just passes it has half the
        estimated error.
        """
        certificate = self.certificate(name)
        if certificate is not None:
            certified = certificate.threshold
            return (1 + certified) / 2 if name in self.suspended else certified
        calibration = self._calibrations.get(name)
        if self._threshold is not None:
            return self._threshold
        trained = None if calibration is None else calibration.threshold
        return THRESHOLD if trained is None else trained

    def certificate(self, name: str) -> CertificateRecord | None:
        """Return the certificate of a calibration, suspended or not; None if it has none."""
        calibration = self._calibrations.get(name)
        return None if calibration is None else calibration.certificate

    @property
    def certificates(self) -> Mapping[str, CertificateRecord]:
        """The certificates by calibration, suspended or not."""
        found = {name: each.certificate for name, each in self._calibrations.items()}
        return {name: each for name, each in found.items() if each is not None}

    def knows(self, name: str) -> bool:
        """Return whether a calibration of that name exists."""
        return name in self._calibrations

    def _calibration(self, features: Mapping[str, float], name: str) -> Calibration | None:
        return self._calibrations.get(self._found(features, name))

    def _found(self, features: Mapping[str, float], name: str) -> str:
        """Return the name of the calibration for the kind of search; "" if there is none.

        Without vectors, the ``.keyword`` calibration is preferred.
        """
        if _VECTOR not in features and self.knows(name + KEYWORD_ONLY):
            return name + KEYWORD_ONLY
        return name if self.knows(name) else ""


def load_gate(confidence_threshold: float | None = None, path: Path = GATE_FILE) -> Gate:
    """Load the gate from its file. Raises SettingInvalid if it is missing or malformed."""
    return Gate(load_gate_file(path), confidence_threshold)


def load_gate_file(path: Path = GATE_FILE) -> GateFile:
    """Read the gate's file. Raises SettingInvalid if it is missing or malformed."""
    try:
        return GateFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingInvalid(
            f"The gate's file {str(path)!r} can't be used: {error}. "
            "Restore it, or write a new one with `make train`."
        ) from error


def veto(features: Mapping[str, float]) -> str | None:
    """Return the reason, in words, to reject an answer whatever its probability; else None."""
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
    """Return the regression's probability; an absent feature counts as average.

    Features are standardised, and clamped to the range seen in training, beyond which the
    regression was not fitted.
    """
    total = calibration.intercept + sum(
        each.push for each in _feature_weights(calibration, features)
    )
    # The bounds keep math.exp from overflowing.
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
