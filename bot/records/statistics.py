"""What the record says of a span of days in figures: frozen, and with the limits they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, Protocol, get_args

from bot.limits.usage import day_of
from bot.records.sums import Span
from bot.types import Intent

Kind = Literal[
    "answered",
    "unsure",
    "generic",
    "clarified",
    "escalated",
    "offered",
    "refused",
    "open",
    "silent",
]
"""What became of a question. answered: from the wiki, whole or in part. unsure: a guess was shown,
and nobody gave it a thumb up; with one it is answered. generic: small talk and general knowledge.
clarified: one question back. escalated: it went to a person. offered: a person was offered, and
nobody took that. refused: beyond a limit, or during a pause. open: still being worked on. silent:
nobody asked the bot, or they were told before; it counts as no question."""

HAND_OVER = "HAND_OVER"
"""How the record names the press of a button that asks for a person: it is no question of its own,
and what it does is counted for the question that it was pressed below."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_KINDS: Mapping[str, Kind] = {
    "RAG": "answered",
    "GENERIC": "generic",
    "CLARIFICATION": "clarified",
    "ESCALATION_REQUIRED": "offered",
    "SILENT": "silent",
}

MOST_QUESTIONS = 50_000
"""A span is looked at up to so many questions, the newest; and up to so many votes."""

MOST_CASES = 5_000


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took, in seconds: half of the ``count`` within ``p50``, 95 % in ``p95``.

    By nearest rank; without any, both are 0.
    """

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0


@dataclass(frozen=True, slots=True)
class Day:
    """One day of UTC: questions by what became of them, and thumbs by when they were given."""

    day: date
    kinds: Mapping[Kind, int]
    up: int = 0
    down: int = 0

    @property
    def asked(self) -> int:
        return sum(count for kind, count in self.kinds.items() if kind != "silent")


@dataclass(frozen=True, slots=True)
class Figures:
    """A span in figures, a day each, also those without a question.

    Withdrawn questions are left out. ``claiming``, ``replying`` and ``resolving`` count from the
    opening of the cases that were opened in the span. ``shortened``: there were more questions
    than MOST_QUESTIONS, votes, or cases than MOST_CASES, and only the newest are counted.
    """

    span: Span
    days: tuple[Day, ...]
    answering: Spread = Spread()
    claiming: Spread = Spread()
    replying: Spread = Spread()
    resolving: Spread = Spread()
    shortened: bool = False

    @property
    def asked(self) -> int:
        return sum(day.asked for day in self.days)

    @property
    def up(self) -> int:
        return sum(day.up for day in self.days)

    @property
    def down(self) -> int:
        return sum(day.down for day in self.days)

    def of(self, kind: Kind) -> int:
        """Return how many questions became that."""
        return sum(day.kinds.get(kind, 0) for day in self.days)

    @property
    def without_person(self) -> float | None:
        """The share answered from the wiki of what it was asked for; None without any.

        A guess that nobody found helpful counts as not answered.
        """
        answered = self.of("answered")
        needed = answered + self.of("unsure") + self.of("escalated") + self.of("offered")
        return answered / needed if needed else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits now: cases that nobody has, since when the oldest, and cases somebody has."""

    unclaimed: int = 0
    since: datetime | None = None
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class Troubles:
    """What could not be delivered within a span: answers, and news of cases."""

    answers: int = 0
    news: int = 0


class Statistics(Protocol):
    """The record in figures. Raises bot.errors.StoreUnavailable."""

    async def figures(self, tenant: str, span: Span) -> Figures: ...

    async def waiting(self, tenant: str) -> Waiting: ...

    async def troubles(self, tenant: str, span: Span) -> Troubles: ...

    async def any_question(self, tenant: str) -> bool:
        """Tell whether anything was ever asked."""
        ...


def last_days(now: datetime, days: int) -> Span:
    """Return the span of the last days of UTC up to now; today is the last of them."""
    return Span(day_of(now) - timedelta(days=days - 1), now)


def before(span: Span, days: int) -> Span:
    """Return the span as long, so many days earlier; it ends at the same time of day."""
    earlier = timedelta(days=days)
    return Span(span.since - earlier, span.until - earlier)


def dates(span: Span) -> tuple[date, ...]:
    """Return the days that a span touches."""
    first, last = day_of(span.since).date(), day_of(span.until).date()
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def kind_of(answer_type: str, intent: str, *, handed: bool, unsure: bool = False) -> Kind:
    """Name what became of a question, from what the record keeps of its outcome.

    What is refused before it is routed has a general answer to an unknown intent. ``handed``:
    people have the question on their list. ``unsure``: a guess that nobody found helpful.
    """
    if handed:
        return "escalated"
    if unsure and answer_type == "RAG":
        return "unsure"
    if answer_type == "GENERIC" and intent == Intent.UNKNOWN:
        return "refused"
    return _KINDS.get(answer_type, "open")


def spread(seconds: Sequence[float]) -> Spread:
    """Return the nearest-rank percentiles of some durations."""
    if not seconds:
        return Spread()
    ordered = sorted(seconds)
    return Spread(len(ordered), _rank(ordered, 50), _rank(ordered, 95))


def by_day(
    span: Span, kinds: Mapping[date, Mapping[Kind, int]], votes: Mapping[date, Counter[str]]
) -> tuple[Day, ...]:
    """Join counts by day to one row a day of a span."""
    none: Counter[str] = Counter()
    thumbs = {day: votes.get(day, none) for day in dates(span)}
    return tuple(
        Day(day, kinds.get(day, {}), given["up"], given["down"]) for day, given in thumbs.items()
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    place = -(-len(ordered) * percent // 100)
    return ordered[max(place, 1) - 1]
