"""What the classifier's probabilities mean for one message. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.types import Intent
from bot.routing.intents.classifier import Thresholds
from bot.routing.intents.english import QUESTION
from bot.routing.intents.plain import plain
from bot.routing.intents.workplace import (
    is_about_the_workplace,
    is_asked_in_general,
    names_a_helper,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The intent and its probability; UNKNOWN is the grey band, where a model may be asked."""

    intent: Intent
    score: float


def judge(text: str, probabilities: Mapping[Intent, float], limits: Thresholds) -> Verdict:
    """Decide, with every doubt in favour of looking it up.

    A workplace question answered as general knowledge is the costly error, so GENERIC takes a
    high probability, the form of a general question, and no word of the workplace. HUMAN takes
    somebody who could help, and not the form of "how is it done?".
    """
    said = plain(text)
    generic, human = probabilities[Intent.GENERIC], probabilities[Intent.HUMAN]
    if names_a_helper(said) and not QUESTION.search(said):
        if human >= limits.human:
            return Verdict(Intent.HUMAN, human)
        if human >= limits.human_doubt:
            return Verdict(Intent.UNKNOWN, human)
    if is_about_the_workplace(said):
        return Verdict(Intent.DOMAIN, probabilities[Intent.DOMAIN])
    if generic >= limits.generic and is_asked_in_general(said):
        return Verdict(Intent.GENERIC, generic)
    if generic >= limits.generic_doubt:
        return Verdict(Intent.UNKNOWN, generic)
    return Verdict(Intent.DOMAIN, probabilities[Intent.DOMAIN])
