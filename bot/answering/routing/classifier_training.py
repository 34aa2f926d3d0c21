"""Train the intent classifier: ``python -m bot.answering.routing.classifier_training``.

It learns from seed utterances, one a line in seed/, one file for each intent. Needs
requirements-evals.txt (scikit-learn). Thresholds are chosen on held-out seeds: each seed is judged
by a model that was trained without it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bot.answering.routing.intent_classifier import (
    WEIGHTS,
    IntentClassifier,
    Thresholds,
    TrainingRecord,
    decide_intent,
)
from bot.answering.routing.message_text import normalized
from bot.domain.messages import Intent
from rag.models.local_embedder import open_local_embedder
from rag.types import Vectors

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

SEED_INTENTS = (Intent.DOMAIN, Intent.GENERIC, Intent.HUMAN)


@dataclass(frozen=True, slots=True)
class Seed:
    """A hand-written utterance with the intent that it expresses."""

    text: str
    intent: Intent


def load_seeds() -> tuple[Seed, ...]:
    """Read the seed utterances of every intent; lines that start with ``#`` are comments."""
    folder = resources.files("bot.answering.routing").joinpath("seed")
    return tuple(
        Seed(line.strip(), intent)
        for intent in SEED_INTENTS
        for line in folder.joinpath(f"{intent.lower()}.txt").read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    )


def fingerprint(seeds: tuple[Seed, ...]) -> str:
    """Return the SHA-256 of the seeds, stored with the weights to identify their training data."""
    lines = "\n".join(f"{seed.intent}\t{seed.text}" for seed in seeds)
    return hashlib.sha256(lines.encode()).hexdigest()


def normalized_seeds(seeds: tuple[Seed, ...]) -> frozenset[str]:
    """Return the seeds as normalized for the rules, to keep them out of an evaluation."""
    return frozenset(normalized(seed.text) for seed in seeds)


_INVERSE_PENALTY = 5.0
_FOLDS = 10
_MARGIN = 0.05
"""Added to the lowest threshold that no held-out seed of another intent passes, because real
messages vary more than seeds."""
_UNREACHABLE = 1.1  # above any probability: turns a threshold off
_GRID = np.arange(0.30, 0.96, 0.01)
_MOST_DOUBTED = 0.06
"""Largest share of DOMAIN seeds that may be judged UNKNOWN, for GENERIC and HUMAN each."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A seed with the probabilities predicted by a model that was trained without it."""

    seed: Seed
    probabilities: dict[Intent, float]


def train(
    seeds: tuple[Seed, ...], vectors: Vectors, embedder: str, on: datetime
) -> tuple[IntentClassifier, tuple[HeldOut, ...]]:
    """Fit weights and choose thresholds; deterministic for the same seeds and vectors."""
    labels = np.array([SEED_INTENTS.index(seed.intent) for seed in seeds])
    held_out = _held_out(seeds, vectors, labels)
    fitted = _model().fit(vectors, labels)
    rows = np.column_stack([fitted.coef_, fitted.intercept_])
    weights = {intent: rows[number] for number, intent in enumerate(SEED_INTENTS)}
    training = TrainingRecord(embedder, on.date().isoformat(), len(seeds), fingerprint(seeds))
    return IntentClassifier(weights, choose_thresholds(held_out), training), held_out


def choose_thresholds(held_out: Sequence[HeldOut]) -> Thresholds:
    """Return the lowest thresholds at which no held-out seed of another intent passes."""
    generic = _lowest(
        held_out, Intent.GENERIC, lambda t: Thresholds(t, t, _UNREACHABLE, _UNREACHABLE)
    )
    human = _lowest(held_out, Intent.HUMAN, lambda t: Thresholds(_UNREACHABLE, _UNREACHABLE, t, t))
    return Thresholds(
        generic=generic,
        generic_doubt=_doubt(
            held_out, generic, lambda t: Thresholds(_UNREACHABLE, t, _UNREACHABLE, _UNREACHABLE)
        ),
        human=human,
        human_doubt=_doubt(
            held_out, human, lambda t: Thresholds(_UNREACHABLE, _UNREACHABLE, _UNREACHABLE, t)
        ),
    )


def confusion(held_out: Iterable[HeldOut], limits: Thresholds) -> dict[Intent, dict[Intent, int]]:
    """Return the confusion matrix: counts of verdicts by the true intent of the seeds."""
    counts = {meant: dict.fromkeys(Intent, 0) for meant in SEED_INTENTS}
    for item in held_out:
        verdict = decide_intent(item.seed.text, item.probabilities, limits)
        counts[item.seed.intent][verdict.intent] += 1
    return counts


def _model() -> LogisticRegression:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=_INVERSE_PENALTY, max_iter=2000, class_weight="balanced")


def _held_out(
    seeds: Sequence[Seed], vectors: Vectors, labels: NDArray[np.int64]
) -> tuple[HeldOut, ...]:
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    shares = cross_val_predict(_model(), vectors, labels, cv=folds, method="predict_proba")
    return tuple(
        HeldOut(seed, {intent: float(p) for intent, p in zip(SEED_INTENTS, row, strict=True)})
        for seed, row in zip(seeds, shares, strict=True)
    )


def _lowest(
    held_out: Sequence[HeldOut], intent: Intent, limits: Callable[[float], Thresholds]
) -> float:
    for threshold in _GRID:
        verdicts = (
            decide_intent(item.seed.text, item.probabilities, limits(float(threshold))).intent
            for item in held_out
            if item.seed.intent is not intent
        )
        if intent not in verdicts:
            return round(float(threshold) + _MARGIN, 2)
    return 1.0


def _doubt(
    held_out: Sequence[HeldOut], decided: float, limits: Callable[[float], Thresholds]
) -> float:
    """Return the lowest probability at which only few DOMAIN seeds (_MOST_DOUBTED) are UNKNOWN."""
    domain = [item for item in held_out if item.seed.intent is Intent.DOMAIN]
    for doubt in _GRID[decided > _GRID]:
        verdicts = [
            decide_intent(h.seed.text, h.probabilities, limits(float(doubt))) for h in domain
        ]
        doubted = sum(verdict.intent is Intent.UNKNOWN for verdict in verdicts)
        if doubted <= _MOST_DOUBTED * len(domain):
            return round(float(doubt), 2)
    return decided


async def _embed_seeds(seeds: Sequence[Seed]) -> tuple[Vectors, str]:
    """Embed the seeds one by one, as questions are; return the vectors and the embedder's name."""
    embedder = await open_local_embedder()
    try:
        return np.stack([await embedder.embed_query(seed.text) for seed in seeds]), embedder.name
    finally:
        embedder.close()


def _report(classifier: IntentClassifier, held_out: Sequence[HeldOut]) -> str:
    lines = [f"thresholds: {classifier.thresholds}", "held-out seeds (meant -> verdict):"]
    for meant, verdicts in confusion(held_out, classifier.thresholds).items():
        told = ", ".join(f"{intent} {count}" for intent, count in verdicts.items() if count)
        lines.append(f"  {meant:8} {told}")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Train and write the weights file."""
    parser = argparse.ArgumentParser(
        prog="python -m bot.answering.routing.classifier_training", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(WEIGHTS))
    chosen = parser.parse_args(arguments)
    seeds = load_seeds()
    vectors, embedder = asyncio.run(_embed_seeds(seeds))
    classifier, held_out = train(seeds, vectors, embedder, datetime.now(UTC))
    classifier.save(chosen.out)
    sys.stdout.write(_report(classifier, held_out) + f"\nwritten: {chosen.out}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
