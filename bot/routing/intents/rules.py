"""What can be told of a message without any model: the cheapest step of the router."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.handoff import HANDOFF_QUESTION, asks_topic
from bot.domain.types import Intent
from bot.routing.intents.human import HumanRequests
from bot.routing.question import is_log
from bot.routing.smalltalk import ACKNOWLEDGEMENT, NOTHING_SAID, SmallTalk
from rag.types import Turn

_READ_CHARACTERS = 3000
"""Of a very long message the beginning and the end are read for a request or small talk."""

_AGREED = re.compile(
    r"(?:(?:yes|yeah|yep|yup|ya|yea|y|sure|ok|okay|please|pls|do|do it|do so|do that|go ahead"
    r"|of course|absolutely|definitely|that would be (?:good|great|nice)|ja|oui|si|s\u00ed)"
    r"[\s,.!\u2026]*(?:thanks|thank you)?[\s,.!]*)+",
    re.IGNORECASE,
)
"""Agreement and nothing else."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules decided; ``empty`` when there is nothing to decide on."""

    intent: Intent
    empty: bool = False


class Rules:
    """Requests for a person, small talk, nothing at all, and logs."""

    def __init__(self) -> None:
        self._human = HumanRequests()
        self._smalltalk = SmallTalk()

    def decide(self, text: str, history: tuple[Turn, ...]) -> Ruling | None:
        """Return what the rules say, or None when they say nothing; never raises."""
        read = _both_ends(text)
        topic = self._smalltalk.topic(read)
        if topic == NOTHING_SAID:
            return Ruling(Intent.GENERIC, empty=True)
        if self._human.heard(read) or (_was_offered(history) and _AGREED.fullmatch(read.strip())):
            return Ruling(Intent.HUMAN)
        if topic is None and was_asked_for_topic(history):
            return Ruling(Intent.HUMAN)
        if topic is not None and not (topic == ACKNOWLEDGEMENT and _was_asked(history)):
            return Ruling(Intent.GENERIC)
        return Ruling(Intent.DOMAIN) if is_log(text) else None


def _both_ends(text: str) -> str:
    if len(text) <= 2 * _READ_CHARACTERS:
        return text
    return f"{text[:_READ_CHARACTERS]}\n{text[-_READ_CHARACTERS:]}"


def was_asked_for_topic(history: tuple[Turn, ...]) -> bool:
    """Whether our last turn asked whoever speaks what they want a person for: now they say it."""
    last = history[-1] if history else None
    return last is not None and last.own and last.role == "assistant" and asks_topic(last.text)


def _was_offered(history: tuple[Turn, ...]) -> bool:
    """Whether our last turn offered to ask a person: then "yes" is what they want."""
    return (
        bool(history) and history[-1].role == "assistant" and HANDOFF_QUESTION in history[-1].text
    )


def _was_asked(history: tuple[Turn, ...]) -> bool:
    """Whether our last turn was a question: then "yes" is an answer and no small talk."""
    return bool(history) and history[-1].role == "assistant" and "?" in history[-1].text[-200:]
