"""Reports over the record: figures by day, usage sums, policies, audited acts, retention.

Figures count within a span of days, and are marked as shortened above a maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property
from typing import Literal

from bot.domain.messages import Intent, Policy

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

MOST_QUESTIONS = 100_000
"""Maximum number of questions counted in a span, the newest; and of votes."""

MOST_CASES = 5_000


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Nearest-rank percentiles of ``count`` durations, in seconds; 0 if there are none."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0


NEEDED_THE_WIKI: frozenset[QuestionKind] = frozenset({"answered", "unsure", "escalated", "offered"})
"""Questions that the wiki should answer; small talk, questions back and refusals are not."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Questions by result.

    ``partial`` are those of "answered" that were answered in part. ``needed`` are those of people
    that needed the wiki (NEEDED_THE_WIKI), ``deflected`` those of them that were answered and not
    followed, within a day, by a request for a person, a thumb down, or the same question again.
    """

    kinds: Mapping[QuestionKind, int]
    partial: int = 0
    needed: int = 0
    deflected: int = 0

    @property
    def asked(self) -> int:
        return sum(count for kind, count in self.kinds.items() if kind != "silent")

    def of(self, kind: QuestionKind) -> int:
        """Return the number of questions with a result."""
        return self.kinds.get(kind, 0)

    @property
    def deflection(self) -> float | None:
        """The share of ``needed`` that needed no person; None if there are none."""
        return self.deflected / self.needed if self.needed else None


NO_QUESTIONS = Tally({})


def sum_of(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of some tallies."""
    kinds: Counter[QuestionKind] = Counter()
    others: Counter[str] = Counter()
    for each in tallies:
        kinds.update(each.kinds)
        others.update(partial=each.partial, needed=each.needed, deflected=each.deflected)
    return Tally(kinds, others["partial"], others["needed"], others["deflected"])


@dataclass(frozen=True, slots=True)
class Day:
    """One day: its questions by result, and the thumbs given on it."""

    day: date
    questions: Tally = NO_QUESTIONS
    up: int = 0
    down: int = 0


Grouping = Literal["channel", "space", "intent"]
GROUPINGS: tuple[Grouping, ...] = ("channel", "space", "intent")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which questions are counted; None: all.

    ``channel`` is ``platform:channel``, "" for all private conversations together. ``space`` is
    that of the best page that was found, "" for none.
    """

    channel: str | None = None
    space: str | None = None
    intent: str | None = None


EVERYTHING = Scope()


@dataclass(frozen=True)
class Figures:
    """Figures of a span by day, including days without a question.

    Withdrawn questions are left out. ``groups`` are the same questions by channel, space and
    intent, keyed as in ``Scope``. ``claiming``, ``replying`` and ``resolving`` are durations since
    the opening of the cases that were opened in the span. ``shortened``: there were more than
    MOST_QUESTIONS questions or votes, or MOST_CASES cases; only the newest are counted.
    """

    span: Span
    days: tuple[Day, ...]
    groups: Mapping[Grouping, Mapping[str, Tally]] = field(default_factory=dict)
    answering: Percentiles = Percentiles()
    claiming: Percentiles = Percentiles()
    replying: Percentiles = Percentiles()
    resolving: Percentiles = Percentiles()
    shortened: bool = False

    @cached_property
    def total(self) -> Tally:
        """All questions."""
        return sum_of(day.questions for day in self.days)

    @property
    def asked(self) -> int:
        return self.total.asked

    @property
    def up(self) -> int:
        return sum(day.up for day in self.days)

    @property
    def down(self) -> int:
        return sum(day.down for day in self.days)

    def of(self, kind: QuestionKind) -> int:
        """Return the number of questions with a result."""
        return self.total.of(kind)


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


def last_days(now: datetime, days: int, zone: tzinfo = UTC) -> Span:
    """Return the span of the last days up to now; today is the last of them."""
    return Span(midnight(now.astimezone(zone).date() - timedelta(days=days - 1), zone), now)


def span_of(first: date, last: date, now: datetime, zone: tzinfo = UTC) -> Span:
    """Return the span of some days, both included, up to now."""
    ended = midnight(last + timedelta(days=1), zone) - timedelta(microseconds=1)
    return Span(midnight(first, zone), min(ended, now))


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return when a day begins somewhere, in UTC."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def earlier_span(span: Span, days: int) -> Span:
    """Return the span shifted back by a number of days."""
    earlier = timedelta(days=days)
    return Span(span.since - earlier, span.until - earlier)


def days_in(span: Span, zone: tzinfo = UTC) -> tuple[date, ...]:
    """Return the days that a span overlaps; it ends within the last one."""
    first, last = span.since.astimezone(zone).date(), span.until.astimezone(zone).date()
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def offsets(span: Span, zone: tzinfo) -> tuple[tuple[datetime, timedelta], ...]:
    """Return from when on which offset from UTC gives the right day of a span's times, in order.

    Where clocks change within a day, both offsets give that day around noon: there it changes here.
    """
    found: list[tuple[datetime, timedelta]] = []
    for day in days_in(span, zone):
        begin = midnight(day, zone)
        for at in (begin, begin + _HALF_DAY):
            offset = at.astimezone(zone).utcoffset() or timedelta()
            if not found or found[-1][1] != offset:
                found.append((at, offset))
    return tuple(found)


_HALF_DAY = timedelta(hours=12)


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
    days: Iterable[date], asked: Mapping[date, Tally], votes: Mapping[date, Counter[str]]
) -> tuple[Day, ...]:
    """Join counts by day into one row for each day."""
    none: Counter[str] = Counter()
    thumbs = {day: votes.get(day, none) for day in days}
    return tuple(
        Day(day, asked.get(day, NO_QUESTIONS), given["up"], given["down"])
        for day, given in thumbs.items()
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    place = -(-len(ordered) * percent // 100)
    return ordered[max(place, 1) - 1]
