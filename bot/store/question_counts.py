"""Count questions of a span by day, channel, space and intent, and what became of them.

Texts are not read: the covering index of the interactions, and rows of facts and votes, suffice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Interval,
    Row,
    Select,
    case,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
)

from bot.domain.record_reports import (
    EVERYTHING,
    GROUPINGS,
    HAND_OVER,
    NEEDED_THE_WIKI,
    Grouping,
    QuestionKind,
    Scope,
    Span,
    Tally,
    kind_of,
    offsets,
)
from bot.store.learning_tables import QuestionFactRow
from bot.store.queries import not_withdrawn, utc_day
from bot.store.tables import EscalationRow, FeedbackRow, InteractionRow

FOLLOWED_WITHIN = timedelta(days=1)
"""A thumb down, a request for a person, or the same question counts against an answer so long."""

_DAY_SECONDS = 86_400
_FACTS = QuestionFactRow.interaction_id == InteractionRow.id


@dataclass(frozen=True, slots=True)
class Selection:
    """Which questions a statement counts, and whose days."""

    dialect: str
    tenant: str
    span: Span
    scope: Scope = EVERYTHING
    zone: tzinfo = UTC

    def asked(self) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions of its questions, in a statement with their facts."""
        return (
            InteractionRow.created_at >= self.span.since,
            InteractionRow.created_at < self.span.until,
            *self._of_scope(),
        )

    def among(self, ids: ColumnElement[str]) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions that ids are those of its scope, whenever they were asked."""
        if self.scope == EVERYTHING:
            return ()
        own = select(InteractionRow.id).outerjoin(QuestionFactRow, _FACTS)
        return (ids.in_(own.where(*self._of_scope())),)

    def day(self, moment: ColumnElement[datetime]) -> ColumnElement[str]:
        """Return the SQL expression of a time's day."""
        return local_day(self.dialect, moment, self.span, self.zone)

    def _of_scope(self) -> tuple[ColumnElement[bool], ...]:
        wanted = (
            (channel_key(), self.scope.channel),
            (space_key(), self.scope.space),
            (InteractionRow.intent.expression, self.scope.intent),
        )
        narrowed = (column == value for column, value in wanted if value is not None)
        return (InteractionRow.tenant == self.tenant, not_withdrawn(), *narrowed)


def channel_key() -> ColumnElement[str]:
    """Return a question's channel; "" where only its asker reads it, or that is not known yet."""
    return case((QuestionFactRow.private.is_(False), InteractionRow.channel), else_="")


def space_key() -> ColumnElement[str]:
    """Return the space of the best page found for a question; "" if there is none."""
    return func.coalesce(QuestionFactRow.space, "")


def local_day(
    dialect: str, moment: ColumnElement[datetime], span: Span, zone: tzinfo
) -> ColumnElement[str]:
    """Return the SQL expression of a time's date somewhere, as ``2026-11-22``."""
    first, *later = offsets(span, zone)
    if not later:
        return _shifted_day(dialect, moment, first[1])
    changes = [
        (moment >= since, _shifted_day(dialect, moment, offset))
        for since, offset in reversed(later)
    ]
    return case(*changes, else_=_shifted_day(dialect, moment, first[1]))


def _shifted_day(
    dialect: str, moment: ColumnElement[datetime], offset: timedelta
) -> ColumnElement[str]:
    if not offset:
        return utc_day(dialect, moment)
    if dialect == "postgresql":
        there = func.timezone("UTC", moment) + literal(offset, Interval())
        return func.to_char(there, "YYYY-MM-DD")
    return func.date(moment, f"{offset.total_seconds():+.0f} seconds")


def count_questions(chosen: Selection, most: int) -> Select[*tuple[Any, ...]]:
    """Return the query that counts the newest ``most`` questions by all that is told apart.

    Button presses that escalate a question (bot.domain.record_reports.HAND_OVER) are not counted
    as questions.
    """
    asked = (
        select(*_columns(chosen))
        .outerjoin(QuestionFactRow, _FACTS)
        .where(*chosen.asked(), InteractionRow.answer_type != HAND_OVER)
        .order_by(InteractionRow.created_at.desc())
        .limit(most)
        .subquery()
    )
    return select(*asked.c, func.count().label("total")).group_by(*asked.c)


def select_hand_overs(tenant: str, since: datetime, most: int) -> Select[str]:
    """Return the query for the newest button presses by which questions were escalated."""
    return (
        select(InteractionRow.message)
        .join(EscalationRow, EscalationRow.interaction_id == InteractionRow.id)
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.created_at >= since,
            InteractionRow.answer_type == HAND_OVER,
            not_withdrawn(),
        )
        .order_by(InteractionRow.created_at.desc())
        .limit(most)
    )


def select_questions(chosen: Selection, ids: Sequence[str]) -> Select[*tuple[Any, ...]]:
    """Return the query for what is told apart of some questions, before a press escalated them."""
    return (
        select(*_columns(chosen), literal(1).label("total"))
        .outerjoin(QuestionFactRow, _FACTS)
        .where(*chosen.asked(), InteractionRow.id.in_(ids))
    )


def _columns(chosen: Selection) -> tuple[ColumnElement[Any], ...]:
    question = FeedbackRow.interaction_id == InteractionRow.id
    came = InteractionRow.created_at.expression
    helped = exists().where(question, FeedbackRow.vote == "up")
    soon = (
        seconds_between(chosen.dialect, came, FeedbackRow.given_at.expression)
        <= FOLLOWED_WITHIN.total_seconds()
    )
    disliked = exists().where(question, FeedbackRow.vote == "down", soon)
    own = EscalationRow.interaction_id == InteractionRow.id
    to_people = InteractionRow.answer_type == "ESCALATION_REQUIRED"
    answered = InteractionRow.answer_type == "RAG"
    level = InteractionRow.confidence_level
    return (
        chosen.day(came).label("day"),
        channel_key().label("channel"),
        space_key().label("space"),
        InteractionRow.intent.expression,
        InteractionRow.answer_type.expression,
        _if(to_people, exists().where(own)).label("handed"),
        _if(level == "unsure", not_(helped)).label("unsure"),
        (level == "partial").label("partial"),
        func.coalesce(QuestionFactRow.by_bot, False).label("by_bot"),
        _if(answered, or_(QuestionFactRow.followed_at.is_not(None), disliked)).label("followed"),
    )


def _if(condition: ColumnElement[bool], wanted: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the SQL expression of "and" that looks at the second only if the first holds.

    SQLite looks at both operands of an AND that is selected, and each is a search here.
    """
    return case((condition, wanted), else_=false())


def seconds_between(
    dialect: str, since: ColumnElement[datetime], until: ColumnElement[Any]
) -> ColumnElement[float]:
    """Return the SQL expression of the seconds between two times."""
    if dialect == "postgresql":
        return func.date_part("epoch", until - since)
    return (func.julianday(until) - func.julianday(since)) * _DAY_SECONDS


class Tallies:
    """Adds up counted questions by day and by each grouping."""

    def __init__(self) -> None:
        self._days: defaultdict[date, Counter[str]] = defaultdict(Counter)
        self._groups: dict[Grouping, defaultdict[str, Counter[str]]] = {
            each: defaultdict(Counter) for each in GROUPINGS
        }
        self.seen = 0

    def add(self, row: Row[*tuple[Any, ...]]) -> None:
        """Add the questions of a row."""
        kind = kind_of(
            row.answer_type, row.intent, handed=bool(row.handed), unsure=bool(row.unsure)
        )
        self._count(row, kind, row.total)
        self.seen += row.total

    def hand_over(self, row: Row[*tuple[Any, ...]]) -> None:
        """Count a question that was added before as one that went to people."""
        kind = kind_of(
            row.answer_type, row.intent, handed=bool(row.handed), unsure=bool(row.unsure)
        )
        self._count(row, kind, -1)
        self._count(row, "escalated", 1)

    def _count(self, row: Row[*tuple[Any, ...]], kind: QuestionKind, total: int) -> None:
        for each in self._counters(row):
            for tag in _tags(row, kind):
                each[tag] += total

    def _counters(self, row: Row[*tuple[Any, ...]]) -> Iterator[Counter[str]]:
        yield self._days[date.fromisoformat(row.day)]
        for grouping, counters in self._groups.items():
            yield counters[getattr(row, grouping)]

    def days(self) -> Mapping[date, Tally]:
        """Return the questions of each day."""
        return {day: _tally(counted) for day, counted in self._days.items()}

    def groups(self) -> Mapping[Grouping, Mapping[str, Tally]]:
        """Return the questions of each group, the most asked first."""
        return {grouping: _by_number(counters) for grouping, counters in self._groups.items()}


_PARTIAL, _NEEDED, _DEFLECTED = "+partial", "+needed", "+deflected"


def _tags(row: Row[*tuple[Any, ...]], kind: QuestionKind) -> Iterator[str]:
    """Return what one question counts as."""
    yield kind
    if kind == "answered" and row.partial:
        yield _PARTIAL
    if kind in NEEDED_THE_WIKI and not row.by_bot:
        yield _NEEDED
        if kind == "answered" and not row.followed:
            yield _DEFLECTED


def _tally(counted: Counter[str]) -> Tally:
    kinds: Any = {tag: n for tag, n in counted.items() if n > 0 and not tag.startswith("+")}
    return Tally(kinds, counted[_PARTIAL], counted[_NEEDED], counted[_DEFLECTED])


def _by_number(counters: Mapping[str, Counter[str]]) -> Mapping[str, Tally]:
    tallies = {key: _tally(counted) for key, counted in counters.items()}
    return dict(sorted(tallies.items(), key=lambda each: (-each[1].asked, each[0])))
