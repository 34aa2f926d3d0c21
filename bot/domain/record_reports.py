"""Reports over the record: figures by day, usage sums, policies, audited acts, retention.

Figures count within a span of UTC days, and are marked as shortened above a maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from bot.domain.messages import Intent, Policy
from bot.domain.usage import day_of

Dimension = Literal["day", "model", "channel", "person", "tenant"]
"""Key of the usage sums; a day is a UTC day such as ``2026-11-22``."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time span from ``since`` to ``until`` (exclusive); both with a time zone."""

    since: datetime
    until: datetime

    def __post_init__(self) -> None:
        for moment in (self.since, self.until):
            if moment.tzinfo is None:
                raise ValueError(f"{moment!r} has no zone. Give one, such as datetime.UTC.")


@dataclass(frozen=True, slots=True)
class UsageSum:
    """Sum of model calls; ``key`` is the day, model, channel, person or tenant.

    ``cost_usd`` counts only calls with a known price; ``unpriced_calls`` counts the others.
    """

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A channel's policy (``platform:channel``), and who set it when."""

    channel: str
    policy: Policy
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An entry of the audit log; ``number`` orders the entries of all tenants.

    ``name`` is the actor's name at that time, "" if not recorded.
    """

    number: int
    at: datetime
    actor: str
    act: str
    subject: str
    detail: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """Counts of deleted interactions and conversations, and of anonymised usage rows.

    ``refused`` counts deleted interactions that were stored without text.
    """

    interactions: int = 0
    conversations: int = 0
    usage: int = 0
    refused: int = 0


QuestionKind = Literal[
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
"""The result of a question. answered: from the wiki, whole or in part. unsure: a guess was shown
that got no thumb up; with one it counts as answered. generic: small talk and general knowledge.
clarified: a question back. escalated: handed to a person. offered: a person was offered, and not
accepted. refused: by a limit or a pause. open: still in progress. silent: the bot was not asked, or
the asker was told before; not counted as a question."""

HAND_OVER = "HAND_OVER"
"""Recorded kind of a button press that asks for a person. It is no question of its own; its effect
is counted for the question above the button."""

_KINDS: Mapping[str, QuestionKind] = {
    "RAG": "answered",
    "GENERIC": "generic",
    "CLARIFICATION": "clarified",
    "ESCALATION_REQUIRED": "offered",
    "SILENT": "silent",
}

MOST_QUESTIONS = 50_000
"""Maximum number of questions counted in a span, the newest; and of votes."""

MOST_CASES = 5_000


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Nearest-rank percentiles of ``count`` durations, in seconds; 0 if there are none."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0


@dataclass(frozen=True, slots=True)
class Day:
    """One UTC day: its questions by result, and the thumbs given on it."""

    day: date
    kinds: Mapping[QuestionKind, int]
    up: int = 0
    down: int = 0

    @property
    def asked(self) -> int:
        return sum(count for kind, count in self.kinds.items() if kind != "silent")


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a span by day, including days without a question.

    Withdrawn questions are left out. ``claiming``, ``replying`` and ``resolving`` are durations
    since the opening of the cases that were opened in the span. ``shortened``: there were more
    than MOST_QUESTIONS questions or votes, or MOST_CASES cases; only the newest are counted.
    """

    span: Span
    days: tuple[Day, ...]
    answering: Percentiles = Percentiles()
    claiming: Percentiles = Percentiles()
    replying: Percentiles = Percentiles()
    resolving: Percentiles = Percentiles()
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

    def of(self, kind: QuestionKind) -> int:
        """Return the number of questions with a result."""
        return sum(day.kinds.get(kind, 0) for day in self.days)

    @property
    def without_person(self) -> float | None:
        """The share of questions to the wiki that it answered; None if there are none.

        A guess that got no thumb up counts as not answered.
        """
        answered = self.of("answered")
        needed = answered + self.of("unsure") + self.of("escalated") + self.of("offered")
        return answered / needed if needed else None


@dataclass(frozen=True, slots=True)
class WaitingCases:
    """Unclaimed cases, with the time of the oldest, and claimed cases, as of now."""

    unclaimed: int = 0
    since: datetime | None = None
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryFailures:
    """Numbers of answers and of case notices that could not be delivered in a span."""

    answers: int = 0
    news: int = 0


def last_days(now: datetime, days: int) -> Span:
    """Return the span of the last UTC days up to now; today is the last of them."""
    return Span(day_of(now) - timedelta(days=days - 1), now)


def earlier_span(span: Span, days: int) -> Span:
    """Return the span shifted back by a number of days."""
    earlier = timedelta(days=days)
    return Span(span.since - earlier, span.until - earlier)


def days_in(span: Span) -> tuple[date, ...]:
    """Return the UTC days that a span overlaps."""
    first, last = day_of(span.since).date(), day_of(span.until).date()
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def kind_of(answer_type: str, intent: str, *, handed: bool, unsure: bool = False) -> QuestionKind:
    """Return the result of a question from its recorded outcome.

    A question refused before routing is stored as GENERIC with an unknown intent. ``handed``: it
    was escalated. ``unsure``: a guess that got no thumb up.
    """
    if handed:
        return "escalated"
    if unsure and answer_type == "RAG":
        return "unsure"
    if answer_type == "GENERIC" and intent == Intent.UNKNOWN:
        return "refused"
    return _KINDS.get(answer_type, "open")


def percentiles_of(seconds: Sequence[float]) -> Percentiles:
    """Return the nearest-rank percentiles of some durations."""
    if not seconds:
        return Percentiles()
    ordered = sorted(seconds)
    return Percentiles(len(ordered), _rank(ordered, 50), _rank(ordered, 95))


def by_day(
    span: Span, kinds: Mapping[date, Mapping[QuestionKind, int]], votes: Mapping[date, Counter[str]]
) -> tuple[Day, ...]:
    """Join counts by day into one row for each day of a span."""
    none: Counter[str] = Counter()
    thumbs = {day: votes.get(day, none) for day in days_in(span)}
    return tuple(
        Day(day, kinds.get(day, {}), given["up"], given["down"]) for day, given in thumbs.items()
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    place = -(-len(ordered) * percent // 100)
    return ordered[max(place, 1) - 1]
