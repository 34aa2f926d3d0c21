from __future__ import annotations

from collections import Counter

from bot.answering.routing.classifier_training import SEED_INTENTS, load_seeds
from bot.answering.routing.intent_rules import Rules
from bot.answering.routing.message_text import normalized
from bot.domain.messages import Intent

HUMAN_SEEDS_HEARD = 0.97
"""The rest of these seeds is for the classifier and the model to hear."""


def test_every_intent_has_enough_seeds() -> None:
    counts = Counter(seed.intent for seed in load_seeds())
    assert all(counts[intent] >= 150 for intent in SEED_INTENTS)


def test_no_seed_stands_twice() -> None:
    said = Counter(normalized(seed.text) for seed in load_seeds())
    assert [text for text, times in said.items() if times > 1] == []


def test_no_domain_seed_is_taken_for_small_talk_or_a_request() -> None:
    rules = Rules()
    wrong = [
        seed.text
        for seed in load_seeds()
        if seed.intent is Intent.DOMAIN
        and (ruling := rules.decide(seed.text, ()))
        and ruling.intent is not Intent.DOMAIN
    ]
    assert wrong == []


def test_nearly_every_human_seed_is_heard_by_the_rules_alone() -> None:
    rules = Rules()
    seeds = [seed for seed in load_seeds() if seed.intent is Intent.HUMAN]
    heard = [r for s in seeds if (r := rules.decide(s.text, ())) and r.intent is Intent.HUMAN]
    assert len(heard) / len(seeds) >= HUMAN_SEEDS_HEARD
