from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import structlog

from bot.answering.routing.classifier_training import SEED_INTENTS, fingerprint, load_seeds
from bot.answering.routing.intent_classifier import (
    IntentClassifier,
    Thresholds,
    TrainingRecord,
    load_classifier,
)
from bot.domain.messages import Intent
from rag.models.embedding.local import LocalEmbedder

LIMITS = Thresholds(0.7, 0.4, 0.8, 0.3)


def classifier(dimensions: int = 3) -> IntentClassifier:
    rows = np.eye(3, dimensions + 1)
    weights = {intent: rows[number] * 5 for number, intent in enumerate(SEED_INTENTS)}
    return IntentClassifier(weights, LIMITS, TrainingRecord("words@1", "2026-01-01", 3, "abc"))


@pytest.mark.parametrize(("row", "intent"), list(enumerate(SEED_INTENTS)))
def test_the_nearest_intent_gets_the_largest_share(row: int, intent: Intent) -> None:
    shares = classifier().probabilities(np.eye(3, dtype=np.float32)[row])
    assert max(shares, key=shares.__getitem__) is intent
    assert sum(shares.values()) == pytest.approx(1)


def test_it_fits_only_the_embedder_it_was_trained_on() -> None:
    assert classifier().fits("words@1", 3)
    assert not classifier().fits("words@2", 3)
    assert not classifier().fits("words@1", 4)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    classifier().save(path)
    loaded = load_classifier(path)
    assert loaded is not None
    vector = np.array([0.1, 0.7, 0.2], dtype=np.float32)
    assert loaded.probabilities(vector) == pytest.approx(classifier().probabilities(vector))
    assert (loaded.thresholds, loaded.training) == (LIMITS, classifier().training)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"weights": 1}', "not json"])
def test_broken_weights_mean_no_classifier_and_a_warning(tmp_path: Path, content: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(content)
    with structlog.testing.capture_logs() as logs:
        assert load_classifier(path) is None
    assert [entry["event"] for entry in logs] == ["intent_classifier_off"]


def test_the_shipped_weights_were_made_from_the_shipped_seeds() -> None:
    shipped = load_classifier()
    assert shipped is not None
    seeds = load_seeds()
    assert shipped.training.seeds_sha256 == fingerprint(seeds)
    assert shipped.training.seeds == len(seeds)


def test_the_shipped_weights_fit_the_shipped_embedder() -> None:
    shipped = load_classifier()
    assert shipped is not None
    assert shipped.fits(LocalEmbedder.name, LocalEmbedder.dimensions)


def test_the_weights_are_plain_json_that_can_be_compared() -> None:
    path = Path(__file__).parents[4] / "bot/answering/routing/weights.json"
    assert set(json.loads(path.read_text())) == {"version", "training", "thresholds", "weights"}
