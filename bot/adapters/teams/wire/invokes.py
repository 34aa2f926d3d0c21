"""What an invoke is answered with, within Teams' few seconds: pure."""

from __future__ import annotations

from typing import Literal

from bot.adapters.teams.wire.body import Json

CARD_TYPE = "application/vnd.microsoft.card.adaptive"
_WORDS_TYPE = "application/vnd.microsoft.activity.message"

Height = Literal["small", "medium", "large"]


def card_answer(card: Json) -> Json:
    """Answer a press with the card that its presser sees instead from now on."""
    return {"statusCode": 200, "type": CARD_TYPE, "value": card}


def words_answer(words: str) -> Json:
    """Answer a press with words that only its presser sees; the card stays."""
    return {"statusCode": 200, "type": _WORDS_TYPE, "value": words}


def dialog(title: str, card: Json, *, height: Height = "medium") -> Json:
    """Answer with a dialog, formerly called a task module, that shows a card."""
    shown = {"title": title, "height": height, "width": "medium", "card": attachment(card)}
    return {"task": {"type": "continue", "value": shown}}


def dialog_words(words: str) -> Json:
    """Answer with a dialog that says something, and nothing else."""
    return {"task": {"type": "message", "value": words}}


def attachment(card: Json) -> Json:
    """Return a card as it is attached to a message or a dialog."""
    return {"contentType": CARD_TYPE, "content": card}


NOTHING: Json = {}
"""Closes a dialog, keeps a card: it was taken."""
