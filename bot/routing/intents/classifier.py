"""A multinomial logistic regression on the embedder's vector: one product at run time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TypedDict

import numpy as np
import structlog
from numpy.typing import NDArray

from bot.domain.types import Intent
from rag.types import Vectors

WEIGHTS = "weights.json"


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities, 0..1, chosen on held-out seeds.

    At or above ``generic`` (``human``) the classifier decides so by itself. Below that and at or
    above ``generic_doubt`` (``human_doubt``) a model is asked. Everything else is DOMAIN.
    """

    generic: float
    generic_doubt: float
    human: float
    human_doubt: float


@dataclass(frozen=True, slots=True)
class Training:
    """What the weights were made from."""

    embedder: str
    trained_on: str
    seeds: int
    seeds_sha256: str


class _Stored(TypedDict):
    version: int
    training: dict[str, str | int]
    thresholds: dict[str, float]
    weights: dict[str, list[float]]


class IntentClassifier:
    """Probabilities of GENERIC, DOMAIN and HUMAN for one embedded message."""

    def __init__(
        self,
        weights: Mapping[Intent, NDArray[np.float64]],
        thresholds: Thresholds,
        training: Training,
    ) -> None:
        """Take for each intent its coefficients, the bias last."""
        self._intents = tuple(weights)
        self._matrix = np.stack(list(weights.values()))
        self.thresholds = thresholds
        self.training = training

    def fits(self, embedder: str, dimensions: int) -> bool:
        """Whether it was trained on this embedder's vectors."""
        return embedder == self.training.embedder and dimensions == self._matrix.shape[1] - 1

    def probabilities(self, vector: Vectors) -> dict[Intent, float]:
        """Return one probability for each intent; they add up to 1."""
        scores = self._matrix[:, :-1] @ vector.astype(np.float64) + self._matrix[:, -1]
        odds = np.exp(scores - scores.max())
        shares = odds / odds.sum()
        return {intent: float(shares[row]) for row, intent in enumerate(self._intents)}

    def save(self, path: Path) -> None:
        stored: _Stored = {
            "version": 1,
            "training": asdict(self.training),
            "thresholds": asdict(self.thresholds),
            "weights": {
                intent.value: [round(float(weight), 5) for weight in row]
                for intent, row in zip(self._intents, self._matrix, strict=True)
            },
        }
        path.write_text(json.dumps(stored) + "\n", encoding="utf-8")


def load_classifier(path: Path | None = None) -> IntentClassifier | None:
    """Read the weights, by default those that come with Frontdesk.

    Weights that cannot be read mean no classifier and a warning; the router works without.
    """
    source = path or resources.files("bot.routing.intents").joinpath(WEIGHTS)
    try:
        stored: _Stored = json.loads(source.read_text(encoding="utf-8"))
        return _restored(stored)
    except (OSError, ValueError, KeyError, TypeError):
        _log.warning(
            "intent_classifier_off",
            weights=str(source),
            cure="Run `python -m bot.routing.intents.training` to write them again.",
        )
        return None


def _restored(stored: _Stored) -> IntentClassifier:
    training = stored["training"]
    return IntentClassifier(
        {Intent(name): np.array(row, dtype=np.float64) for name, row in stored["weights"].items()},
        Thresholds(**stored["thresholds"]),
        Training(
            embedder=str(training["embedder"]),
            trained_on=str(training["trained_on"]),
            seeds=int(training["seeds"]),
            seeds_sha256=str(training["seeds_sha256"]),
        ),
    )
