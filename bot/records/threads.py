"""What a person asked before: their conversations, and single questions; all frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.types import InteractionId


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A conversation that has a question left; ``id`` is bot.types.Thread.id.

    ``question`` is the first that was not withdrawn, in full, and ``asked`` its id.
    """

    id: str
    question: str
    last_at: datetime
    asked: InteractionId


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was found again; ``thread`` is bot.types.Thread.id."""

    id: InteractionId
    thread: str
    question: str
    asked_at: datetime

    @property
    def asked(self) -> InteractionId:
        return self.id
