"""What a list is narrowed to: from a form's fields to a query, with words for what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Literal, TypeVar, get_args

from bot.adapters.board.words import PARTLY, REFUSED_KIND
from bot.domain.feedback import REASONS, Reason, Vote
from bot.domain.outcomes import AnswerType
from bot.domain.record_search import FeedbackQuery, QuestionQuery
from bot.domain.types import Intent

LONGEST = 200
"""Characters of a field."""

_VOTES: tuple[Vote | Literal["none"], ...] = ("up", "down", "none")
_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
_DAY = timedelta(days=1)

Option = TypeVar("Option")


@dataclass
class Fields:
    """Reads the fields of a form; ``troubles`` are words for who filled it in."""

    given: Mapping[str, str]
    troubles: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.given.get(name, "").strip()[:LONGEST]

    def among(self, name: str, options: tuple[Option, ...]) -> Option | None:
        """Return the option that is chosen; None for none, and for what there is not."""
        chosen = self.text(name)
        return next((option for option in options if option == chosen), None)

    def day(self, name: str, label: str) -> datetime | None:
        """Return the beginning of a day of UTC."""

        def read(text: str) -> datetime:
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)

        return self._read(name, read, f"{label} {{}} is no day. Write it as 2026-11-22.")

    def share(self, name: str, label: str) -> float | None:
        """Return a share of 1 from percent."""

        def read(text: str) -> float:
            percent = float(text.removesuffix("%"))
            if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
                raise ValueError(text)
            return percent / 100

        return self._read(name, read, f"{label} {{}} is no percentage. Write 0 to 100.")

    def _read(self, name: str, read: Callable[[str], Option], wrong: str) -> Option | None:
        text = self.text(name)
        if not text:
            return None
        try:
            return read(text)
        except (ValueError, OverflowError):
            self.troubles.append(wrong.format(f"\u201c{text[:40]}\u201d"))
            return None


def question_query(fields: Fields) -> QuestionQuery:
    """Return which questions are asked for; both days are included."""
    until = fields.day("until", "The last day")
    kind = fields.among("kind", (*_TYPES, REFUSED_KIND))
    return QuestionQuery(
        words=fields.text("words"),
        answer_type="GENERIC" if kind == REFUSED_KIND else fields.among("kind", _TYPES),
        level=fields.among("kind", PARTLY),
        refused=kind == REFUSED_KIND if kind in {"GENERIC", REFUSED_KIND} else None,
        intent=next((each for each in Intent if each.value == fields.text("intent")), None),
        platform=fields.text("platform"),
        person_id=fields.text("person"),
        vote=fields.among("vote", _VOTES),
        since=fields.day("since", "The first day"),
        until=None if until is None else _next_day(until),
        least=fields.share("least", "The lowest confidence"),
        most=fields.share("most", "The highest confidence"),
    )


def feedback_query(fields: Fields) -> FeedbackQuery:
    """Return which judgements are asked for."""
    reasons: tuple[Reason, ...] = REASONS
    votes: tuple[Vote, ...] = get_args(Vote)
    return FeedbackQuery(
        vote=fields.among("vote", votes),
        reason=fields.among("reason", reasons),
        commented=fields.text("commented") == "1",
    )


def _next_day(day: datetime) -> datetime:
    """Return the next day; the last one that there is has none."""
    return day if day.date() == date.max else day + _DAY
