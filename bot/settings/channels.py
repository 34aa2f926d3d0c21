"""A channel's policy in words, for who looks after it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import TypeAdapter

from bot.types import NO_MODEL, AnswerMode, Policy

_ANSWERS: Mapping[AnswerMode, str] = {
    "mentions": "when it is mentioned",
    "questions": "when it is mentioned, and questions addressed to nobody if it is sure",
    "off": "never",
}


def in_words(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Return every field of a policy: its name, and what holds."""
    return (
        ("answers", _ANSWERS[policy.answers]),
        ("follow-ups", "without a mention" if policy.follow_ups else "when it is mentioned again"),
        ("spaces", spaces_in_words(policy)),
        ("people", policy.people or "where the settings say"),
        ("model", _model(policy)),
        ("other bots", "may ask" if policy.other_bots else "are not heard"),
    )


def kept_in_words(text: str) -> str:
    """Return a policy in words as the record's audit keeps it; any other text as it is."""
    try:
        policy = TypeAdapter(Policy).validate_python(json.loads(text)["value"])
    except (ValueError, KeyError, TypeError):
        return text
    return "; ".join(f"{name}: {words}" for name, words in in_words(policy))


def differences(policy: Policy) -> tuple[str, ...]:
    """Return the spaces, and what else is not as in every other channel."""
    usual = in_words(Policy(spaces=policy.spaces))
    own = [f"{name}: {words}" for name, words in in_words(policy) if (name, words) not in usual]
    return (spaces_in_words(policy), *own)


def spaces_in_words(policy: Policy) -> str:
    """Name the spaces that a channel is answered from."""
    if policy.spaces is None:
        return "all"
    return ", ".join(sorted(policy.spaces)) or "none"


def _model(policy: Policy) -> str:
    if policy.model == NO_MODEL:
        return "none: in the pages' own words"
    return policy.model or "the configured one"
