"""Schema of the gate's file: regression coefficients by composer, training sets, certificates."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MODEL = "model"
CAREFUL = "careful"
"""The rule that judges a model's answers without a calibration (bot.answering.gate)."""

UNSURE_FROM = 0.4
"""Default probability from which an answer below the threshold is shown as a guess.

Chosen, not measured: a guess that is right in fewer than two cases of five costs its readers more
than it saves them.
"""


class _FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Feature(_FrozenModel):
    """The parameters of one feature in the regression.

    ``mean`` and ``scale`` standardise it; ``lowest`` and ``highest`` are the 1st and 99th
    percentile of the training set.
    """

    name: str
    mean: float
    scale: float = Field(gt=0)
    lowest: float
    highest: float
    coefficient: float


class TrainedOn(_FrozenModel):
    """A training set of labelled questions, with the number of right answers."""

    name: str
    questions: int = Field(ge=0)
    right: int = Field(ge=0)


class CertificateRecord(_FrozenModel):
    """A threshold certified on labelled questions, see bot.answering.evaluation.certificate."""

    threshold: float = Field(ge=0, le=1)
    target_error: float = Field(gt=0, lt=1)
    confidence: float = Field(gt=0, lt=1)
    coverage: float = Field(ge=0, le=1)
    questions: int = Field(ge=1)
    on: str
    date: date


class Calibration(_FrozenModel):
    """A logistic regression for one composer.

    ``label`` describes the event whose probability is estimated. ``validation`` holds the
    cross-validation figures by name. ``threshold`` applies while none is configured or certified;
    from ``unsure_from`` up to the threshold an answer is shown as a guess.
    """

    label: str
    intercept: float
    features: tuple[Feature, ...] = Field(min_length=1)
    trained_on: tuple[TrainedOn, ...]
    validation: dict[str, float] = Field(default_factory=dict)
    threshold: float | None = Field(default=None, ge=0, le=1)
    unsure_from: float = Field(default=UNSURE_FROM, ge=0, le=1)
    certificate: CertificateRecord | None = None


class GateFile(_FrozenModel):
    """All calibrations by name; a file of an unknown version is rejected.

    Answers without a model use "extractive" and "extractive.keyword", a model's answers the name
    that ``calibration_name`` of bot.answering.gate returns. Version 1 had one calibration for every
    model, trained on none of their answers: it is dropped on reading.
    """

    version: Literal[2]
    date: date
    calibrations: dict[str, Calibration]

    @model_validator(mode="before")
    @classmethod
    def _from_version_1(cls, given: Any) -> Any:  # noqa: ANN401 - whatever was in the file
        match given:
            case {"version": 1, "calibrations": dict(calibrations)}:
                kept = {name: _without_share(each) for name, each in calibrations.items()}
                kept.pop(MODEL, None)
                return {**given, "version": 2, "calibrations": kept}
            case _:
                return given

    def with_certificate(self, composer: str, certificate: CertificateRecord | None) -> GateFile:
        """Return the file with one calibration's certificate replaced, or removed (None).

        Raises KeyError for an unknown calibration.
        """
        certified = self.calibrations[composer].model_copy(update={"certificate": certificate})
        return self.model_copy(update={"calibrations": {**self.calibrations, composer: certified}})


def _without_share(calibration: Any) -> Any:  # noqa: ANN401 - whatever was in the file
    if not isinstance(calibration, dict):
        return calibration
    return {name: each for name, each in calibration.items() if name != "times_supported_share"}
