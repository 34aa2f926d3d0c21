"""The gate's file: coefficients by composer, what they were trained on, and certificates."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Feature(_Frozen):
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


class TrainedOn(_Frozen):
    """A set of labelled questions, and how many of its answers were right."""

    name: str
    questions: int = Field(ge=0)
    right: int = Field(ge=0)


class CertificateRecord(_Frozen):
    """A threshold that was certified on labelled questions, see rag.evaluation.certificate."""

    threshold: float = Field(ge=0, le=1)
    target_error: float = Field(gt=0, lt=1)
    confidence: float = Field(gt=0, lt=1)
    coverage: float = Field(ge=0, le=1)
    questions: int = Field(ge=1)
    on: str
    date: date


class Calibration(_Frozen):
    """A logistic regression for one composer.

    ``label`` says in words what its probability is the probability of. ``validation`` holds the
    figures of the cross-validation by name. ``times_supported_share`` multiplies the probability
    by the share of the composer's claims that passed the checks.
    """

    label: str
    intercept: float
    features: tuple[Feature, ...] = Field(min_length=1)
    trained_on: tuple[TrainedOn, ...]
    validation: dict[str, float] = Field(default_factory=dict)
    times_supported_share: bool = False
    certificate: CertificateRecord | None = None


class GateFile(_Frozen):
    """All calibrations; a file of another version is refused."""

    version: Literal[1]
    date: date
    calibrations: dict[str, Calibration]

    def with_certificate(self, composer: str, certificate: CertificateRecord | None) -> GateFile:
        """Return the file with one composer's certificate replaced, or taken away."""
        certified = self.calibrations[composer].model_copy(update={"certificate": certificate})
        return self.model_copy(update={"calibrations": {**self.calibrations, composer: certified}})
