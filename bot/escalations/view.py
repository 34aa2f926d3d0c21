"""A case as one reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.escalations.finding import Exchange, Finding
from bot.escalations.types import Case, CaseStep


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its history, and what went before.

    ``finding`` is None for a question that has no outcome any more, and while it can't be known
    what may be read. ``before`` is what was said earlier in the thread, oldest first.
    """

    case: Case
    steps: tuple[CaseStep, ...]
    finding: Finding | None
    before: tuple[Exchange, ...]
