"""A dialog that a button opened, and what may be answered to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.bot.adapters.teams.tenant import card_rules, cards
from tests.bot.adapters.teams.tenant.posts import Sent


@dataclass
class Dialog:
    """A window over Teams: a card, or only words. ``over`` is the message it was opened from."""

    over: Sent
    title: str = ""
    words: str = ""
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """What a person reads."""
        read = [self.title, self.words, cards.words(self.card)]
        return "\n".join(part for part in read if part)

    @property
    def labels(self) -> list[str]:
        """What is written on its buttons, in order."""
        return cards.labels(self.card)


def opened(over: Sent, answer: Mapping[str, Any]) -> Dialog | None:
    """Return what an answer shows; None for one that closes the dialog."""
    task = answer.get("task")
    if not task:
        return None
    if task["type"] == "message":
        return Dialog(over, words=str(task["value"]))
    assert task["type"] == "continue", task
    shown = task["value"]
    card = shown["card"]
    assert card["contentType"] == cards.CARD_TYPE, card
    card_rules.check(card["content"])
    return Dialog(over, title=shown["title"], card=card["content"])
