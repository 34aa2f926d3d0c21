"""Reports over the record: figures by day, usage sums, policies, audited acts, retention.

Figures count within a span of UTC days, and say where they were cut for being too many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, Protocol, get_args

from bot.domain.messages import Intent, Policy
from bot.domain.usage import day_of

Dimension = Literal["day", "model", "channel", "person", "tenant"]
"""What usage is summed by; a day is one of UTC, as ``2026-11-22``."""


@dataclass(frozen=True, slots=True)
class Span:
    """From ``since`` up to, and without, ``until``; both with their zone."""

    since: datetime
    until: datetime

    def __post_init__(self) -> None:
        for moment in (self.since, self.until):
            if moment.tzinfo is None:
                raise ValueError(f"{moment!r} has no zone. Give one, such as datetime.UTC.")


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What calls of models came to; ``key`` is the day, model, channel, person or tenant.

    ``cost_usd`` counts only calls with a known price; ``unpriced_calls`` are the others.
    """

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A thread that was written to; ``thread`` is bot.domain.messages.Thread.key."""

    tenant: str
    thread: str
    channel: str
    private: bool
    started_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """What an admin set for a channel (``platform:channel``), and when."""

    channel: str
    policy: Policy
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One act of an admin; ``number`` is the order of the acts of all tenants.

    ``name`` is what who did it was called then, where the record has that.
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
    """What the retention removed: interactions and conversations; usage rows made nameless.

    ``refused`` are interactions too, of which no text was kept.
    """

    interactions: int = 0
    conversations: int = 0
    usage: int = 0
    refused: int = 0


class SumsUsage(Protocol):
    """What calls of models came to. Raises bot.domain.errors.StoreUnavailable."""

    async def sums(
        self, span: Span, by: Dimension, tenant: str | None = None
    ) -> Sequence[UsageSum]: ...


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
"""What became of a question. answered: from the wiki, whole or in part. unsure: a guess was shown,
and nobody gave it a thumb up; with one it is answered. generic: small talk and general knowledge.
clarified: one question back. escalated: it went to a person. offered: a person was offered, and
nobody took that. refused: beyond a limit, or during a pause. open: still being worked on. silent:
nobody asked the bot, or they were told before; it counts as no question."""

HAND_OVER = "HAND_OVER"
"""How the record names the press of a button that asks for a person: it is no question of its own,
and what it does is counted for the question that it was pressed below."""

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)

_KINDS: Mapping[str, QuestionKind] = {
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
class Percentiles:
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
    kinds: Mapping[QuestionKind, int]
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
class WaitingCases:
    """What waits now: cases that nobody has, since when the oldest, and cases somebody has."""

    unclaimed: int = 0
    since: datetime | None = None
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryFailures:
    """What could not be delivered within a span: answers, and news of cases."""

    answers: int = 0
    news: int = 0


class Statistics(Protocol):
    """The record in figures. Raises bot.domain.errors.StoreUnavailable."""

    async def figures(self, tenant: str, span: Span) -> Figures: ...

    async def waiting(self, tenant: str) -> WaitingCases: ...

    async def troubles(self, tenant: str, span: Span) -> DeliveryFailures: ...

    async def any_question(self, tenant: str) -> bool:
        """Tell whether anything was ever asked."""
        ...


def last_days(now: datetime, days: int) -> Span:
    """Return the span of the last days of UTC up to now; today is the last of them."""
    return Span(day_of(now) - timedelta(days=days - 1), now)


def earlier_span(span: Span, days: int) -> Span:
    """Return the span as long, so many days earlier; it ends at the same time of day."""
    earlier = timedelta(days=days)
    return Span(span.since - earlier, span.until - earlier)


def days_in(span: Span) -> tuple[date, ...]:
    """Return the days that a span touches."""
    first, last = day_of(span.since).date(), day_of(span.until).date()
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def kind_of(answer_type: str, intent: str, *, handed: bool, unsure: bool = False) -> QuestionKind:
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


def percentiles_of(seconds: Sequence[float]) -> Percentiles:
    """Return the nearest-rank percentiles of some durations."""
    if not seconds:
        return Percentiles()
    ordered = sorted(seconds)
    return Percentiles(len(ordered), _rank(ordered, 50), _rank(ordered, 95))


def by_day(
    span: Span, kinds: Mapping[date, Mapping[QuestionKind, int]], votes: Mapping[date, Counter[str]]
) -> tuple[Day, ...]:
    """Join counts by day to one row a day of a span."""
    none: Counter[str] = Counter()
    thumbs = {day: votes.get(day, none) for day in days_in(span)}
    return tuple(
        Day(day, kinds.get(day, {}), given["up"], given["down"]) for day, given in thumbs.items()
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    place = -(-len(ordered) * percent // 100)
    return ordered[max(place, 1) - 1]
