"""Define the gate's file: regression coefficients by composer, training sets, certificates."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MODEL = "model"
CAREFUL = "careful"
"""What judges a model's answers until there is a calibration for them (bot.answering.gate)."""

UNSURE_FROM = 0.4
"""From here up to the threshold an answer is shown as a guess, where a calibration says nothing.

An opinion until training measures a better one: a guess that is right less often than two times in
five costs its readers more than it saves them.
"""


def calibration_name(model: str, prompt: str) -> str:
    """Name the calibration of what one model answers to one version of a prompt.

    Args:
        model: as it is configured (OPENAI_MODEL).
        prompt: with its version, such as ``answer@2``.
    """
    return f"{MODEL}:{model}:{prompt}"


def is_of_model(name: str) -> bool:
    """Tell whether a calibration is, or would be, of a model's answers."""
    return name == MODEL or name.startswith(f"{MODEL}:")


def calibration_in_words(name: str) -> str:
    """Say in words what judged, as the record shows it."""
    if name == CAREFUL:
        return "The careful default: nothing was learned from answers of this model and prompt"
    if not is_of_model(name):
        return "What was learned from answers without a model"
    model, _, prompt = name.removeprefix(f"{MODEL}:").rpartition(":")
    return f"What was learned from answers of {model} with {prompt}"


class _FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Feature(_FrozenModel):
    """One feature's part in the regression.

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
    """A set of labelled questions, and how many of its answers were right."""

    name: str
    questions: int = Field(ge=0)
    right: int = Field(ge=0)


class CertificateRecord(_FrozenModel):
    """A threshold that was certified on labelled questions, see rag.evaluation.certificate."""

    threshold: float = Field(ge=0, le=1)
    target_error: float = Field(gt=0, lt=1)
    confidence: float = Field(gt=0, lt=1)
    coverage: float = Field(ge=0, le=1)
    questions: int = Field(ge=1)
    on: str
    date: date


class Calibration(_FrozenModel):
    """A logistic regression for one composer.

    ``label`` says in words what its probability is the probability of. ``validation`` holds the
    figures of the cross-validation by name. ``threshold`` is where an answer is given while none is
    configured or certified; from ``unsure_from`` up to it an answer is shown as a guess.
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
    """All calibrations by name; a file of an unknown version is refused.

    Answers without a model have "extractive" and "extractive.keyword", a model's the name that
    ``calibration_name`` gives. Version 1 had one for whatever model, which knew nothing of its
    answers: it is left out.
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
        """Return the file with one calibration's certificate replaced, or taken away.

        Raises KeyError for a calibration that is not there.
        """
        certified = self.calibrations[composer].model_copy(update={"certificate": certificate})
        return self.model_copy(update={"calibrations": {**self.calibrations, composer: certified}})


def _without_share(calibration: Any) -> Any:  # noqa: ANN401 - whatever was in the file
    if not isinstance(calibration, dict):
        return calibration
    return {name: each for name, each in calibration.items() if name != "times_supported_share"}
