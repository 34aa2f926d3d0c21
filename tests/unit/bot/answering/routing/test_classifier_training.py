"""Tests of the training of the intent classifier; they need scikit-learn."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from bot.answering.routing import classifier_training as training
from bot.answering.routing.classifier_training import SEED_INTENTS, Seed
from bot.domain.messages import Intent

pytest.importorskip("sklearn", reason="scikit-learn is in requirements-evals.txt")

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def seeds() -> tuple[Seed, ...]:
    return tuple(Seed(f"what is {n} {i.value}", i) for i in SEED_INTENTS for n in range(20))


def vectors() -> np.ndarray:
    """Three clouds that hardly touch."""
    noise = np.random.default_rng(0).normal(0, 0.1, (60, 8))
    centres = np.repeat(np.eye(3, 8), 20, axis=0)
    return (centres + noise).astype(np.float32)


def test_separate_clouds_are_told_apart() -> None:
    classifier, _ = training.train(seeds(), vectors(), "words@1", NOW)
    for row, intent in enumerate(SEED_INTENTS):
        shares = classifier.probabilities(np.eye(3, 8, dtype=np.float32)[row])
        assert max(shares, key=shares.__getitem__) is intent


def test_the_same_seeds_give_the_same_weights() -> None:
    first, _ = training.train(seeds(), vectors(), "words@1", NOW)
    second, _ = training.train(seeds(), vectors(), "words@1", NOW)
    vector = vectors()[0]
    assert first.probabilities(vector) == second.probabilities(vector)
    assert first.thresholds == second.thresholds


def test_thresholds_let_no_held_out_seed_of_another_intent_through() -> None:
    classifier, held_out = training.train(seeds(), vectors(), "words@1", NOW)
    counts = training.confusion(held_out, classifier.thresholds)
    assert counts[Intent.DOMAIN][Intent.GENERIC] == 0
    assert counts[Intent.DOMAIN][Intent.HUMAN] == 0


def test_what_it_was_made_from_is_recorded() -> None:
    classifier, _ = training.train(seeds(), vectors(), "words@1", NOW)
    assert classifier.training.embedder == "words@1"
    assert classifier.training.trained_on == "2026-01-02"
    assert classifier.training.seeds == 60
