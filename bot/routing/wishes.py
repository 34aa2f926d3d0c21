"""What a wish for a person is about: what it says itself, else what its author asked last. Pure."""

from __future__ import annotations

from bot.domain.handoff import requested_question
from bot.routing.ellipsis import leans, telling_words
from rag.text.words import looks_english
from rag.types import Turn

_OF_A_WISH = frozenset(
    """
    agent agents answer answered answers ask asked assistant bot bots call chat colleague connect
    contact could department desk escalate escalated forward get give hand help helped helpdesk
    helpful hr human humans immediately it know line live need now operator people person phone
    please put queue real representative right rubbish somebody someone speak stupid support talk
    team ticket transfer try understand urgent urgently useless want work working would wrong
    """.split()
)
"""Words that ask for a person or complain of an answer; they do not say what it is about."""
_NAMES_A_TOPIC = 2
"""So many other words say what it is about."""


def wished_turn(text: str, history: tuple[Turn, ...]) -> Turn | None:
    """Return the question that a wish for a person takes up; None where it says what it is about.

    It is never another person's: who asks in a group for a person means their own question.
    """
    asked = [turn for turn in history if turn.role == "user" and turn.own]
    if named := requested_question(text):
        asked = [turn for turn in asked if turn.text == named]
    elif _says_all(text):
        return None
    return asked[-1] if asked else None


def _says_all(text: str) -> bool:
    """Tell it of English only: in another language every word of a wish looks like a topic."""
    if not looks_english(text):
        return False
    topic = [word for word in telling_words(text) if word not in _OF_A_WISH]
    return len(topic) >= _NAMES_A_TOPIC and not leans(text)
