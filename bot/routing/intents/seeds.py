"""The seed utterances the classifier learns from: one a line, one file for each intent."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

from bot.domain.types import Intent
from bot.routing.intents.plain import plain

LEARNT = (Intent.DOMAIN, Intent.GENERIC, Intent.HUMAN)


@dataclass(frozen=True, slots=True)
class Seed:
    """An utterance we wrote, and what it wants."""

    text: str
    intent: Intent


def load_seeds() -> tuple[Seed, ...]:
    """Read the seeds of every intent; lines that start with ``#`` are remarks."""
    folder = resources.files("bot.routing.intents").joinpath("seed")
    return tuple(
        Seed(line.strip(), intent)
        for intent in LEARNT
        for line in folder.joinpath(f"{intent.lower()}.txt").read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    )


def fingerprint(seeds: tuple[Seed, ...]) -> str:
    """Return the SHA-256 of the seeds, so that weights tell which they were made from."""
    lines = "\n".join(f"{seed.intent}\t{seed.text}" for seed in seeds)
    return hashlib.sha256(lines.encode()).hexdigest()


def spoken(seeds: tuple[Seed, ...]) -> frozenset[str]:
    """Return the seeds as the rules see them, to keep them out of an evaluation."""
    return frozenset(plain(seed.text) for seed in seeds)
