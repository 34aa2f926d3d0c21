"""The statements behind the figures, each over an index range, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, not_, select

from bot.domain.record_reports import HAND_OVER, Span
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoticeRow,
)

_STATES = ("open", "claimed", "answered", "resolved", "declined", "reopened")
"""All of them: the index begins with the state."""

_ANSWERS = ("RAG", "CLARIFICATION", "ESCALATION_REQUIRED")
"""What takes a search. Small talk and refusals are quick, and would flatter."""

_WITHDRAWN = ("cancelling", "cancelled")
_DAY_SECONDS = 86_400


def kinds(
    dialect: str, tenant: str, span: Span, most: int
) -> Select[str, str, str, bool, bool, int]:
    """How many questions of the newest had which kind of answer and intent, by day.

    And whether they went to people themselves, and whether their answer was a guess that nobody
    found helpful. Presses are none (bot.domain.record_reports.HAND_OVER).
    """
    asked = (
        select(*_became(dialect))
        .where(*_asked(tenant, span), InteractionRow.answer_type != HAND_OVER)
        .order_by(InteractionRow.created_at.desc())
        .limit(most)
        .subquery()
    )
    key = asked.c.day, asked.c.answer_type, asked.c.intent, asked.c.handed, asked.c.unsure
    return select(*key, func.count()).group_by(*key)


def handed_over(tenant: str, since: datetime, most: int) -> Select[str]:
    """The presses by which questions went to people; the newest."""
    return (
        select(InteractionRow.message)
        .join(EscalationRow, EscalationRow.interaction_id == InteractionRow.id)
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.created_at >= since,
            InteractionRow.answer_type == HAND_OVER,
            InteractionRow.status.not_in(_WITHDRAWN),
        )
        .order_by(InteractionRow.created_at.desc())
        .limit(most)
    )


def became(
    dialect: str, tenant: str, span: Span, ids: Sequence[str]
) -> Select[str, str, str, bool, bool]:
    """What became of some questions, before a press below them."""
    return select(*_became(dialect)).where(*_asked(tenant, span), InteractionRow.id.in_(ids))


def votes(dialect: str, tenant: str, span: Span, most: int) -> Select[str, str, int]:
    """How many thumbs of each kind, by the day they were given; of the newest."""
    given = (
        select(_day(dialect, FeedbackRow.given_at.expression).label("day"), FeedbackRow.vote)
        .where(
            FeedbackRow.tenant == tenant,
            FeedbackRow.given_at >= span.since,
            FeedbackRow.given_at < span.until,
        )
        .order_by(FeedbackRow.given_at.desc())
        .limit(most)
        .subquery()
    )
    return select(given.c.day, given.c.vote, func.count()).group_by(given.c.day, given.c.vote)


def answering(
    dialect: str, tenant: str, span: Span, most: int
) -> Select[int, float | None, float | None]:
    """How many were answered or handed over, and how fast: the nearest rank of 50 and 95 %."""
    came, ended = InteractionRow.created_at.expression, InteractionRow.finished_at.expression
    finished = (
        select(_seconds(dialect, came, ended).label("took"))
        .where(*_asked(tenant, span), InteractionRow.answer_type.in_(_ANSWERS))
        .order_by(came.desc())
        .limit(most)
        .subquery()
    )
    place = func.row_number().over(order_by=finished.c.took)
    ranked = select(
        finished.c.took, place.label("place"), func.count().over().label("total")
    ).subquery()

    def reached(percent: int) -> ColumnElement[float | None]:
        enough = ranked.c.place * 100 >= ranked.c.total * percent
        return func.min(case((enough, ranked.c.took)))

    return select(func.count(), reached(50), reached(95))


def lives(
    tenant: str, span: Span, most: int
) -> Select[datetime, datetime | None, datetime | None, datetime | None]:
    """When cases were opened, first taken, first replied to, and at last resolved; the newest.

    A reply takes a case too. What somebody opened again is not resolved until it is once more.
    """
    case_, step = EscalationRow, EscalationStepRow
    at = step.at.expression
    opened = (
        select(case_.interaction_id, case_.state, case_.opened_at)
        .where(
            case_.tenant == tenant,
            case_.state.in_(_STATES),
            case_.opened_at >= span.since,
            case_.opened_at < span.until,
        )
        .order_by(case_.opened_at.desc())
        .limit(most)
        .subquery()
    )
    settled = (step.step == "resolve") & (opened.c.state == "resolved")
    return (
        select(
            opened.c.opened_at,
            func.min(case((step.step.in_(("claim", "reply")), at))).label("claimed_at"),
            func.min(case((step.step == "reply", at))).label("replied_at"),
            func.max(case((settled, at))).label("resolved_at"),
        )
        .outerjoin(step, step.interaction_id == opened.c.interaction_id)
        .group_by(opened.c.interaction_id, opened.c.opened_at)
    )


def in_states(tenant: str, states: Sequence[str]) -> Select[int, datetime | None]:
    """How many cases are in some states, and when the oldest was opened."""
    return select(func.count(), func.min(EscalationRow.opened_at)).where(
        EscalationRow.tenant == tenant, EscalationRow.state.in_(states)
    )


def undelivered(tenant: str, span: Span) -> Select[int]:
    """How many answers a platform never took."""
    return select(func.count()).where(*_asked(tenant, span), InteractionRow.status == "failed")


def untold(tenant: str, span: Span) -> Select[int]:
    """How many notices of the span's cases were given up."""
    return (
        select(func.count())
        .select_from(NoticeRow)
        .join(EscalationRow, EscalationRow.interaction_id == NoticeRow.interaction_id)
        .where(
            EscalationRow.tenant == tenant,
            EscalationRow.state.in_(_STATES),
            EscalationRow.opened_at >= span.since,
            EscalationRow.opened_at < span.until,
            NoticeRow.due_at.is_(None),
            NoticeRow.failure != "",
        )
    )


def first(tenant: str) -> Select[str]:
    """Any question at all."""
    return select(InteractionRow.id).where(InteractionRow.tenant == tenant).limit(1)


def _became(
    dialect: str,
) -> tuple[
    ColumnElement[str],
    ColumnElement[str],
    ColumnElement[str],
    ColumnElement[bool],
    ColumnElement[bool],
]:
    guess = InteractionRow.confidence_level == "unsure"
    helped = exists().where(
        FeedbackRow.interaction_id == InteractionRow.id, FeedbackRow.vote == "up"
    )
    own = EscalationRow.interaction_id == InteractionRow.id
    to_people = InteractionRow.answer_type == "ESCALATION_REQUIRED"
    return (
        _day(dialect, InteractionRow.created_at.expression).label("day"),
        InteractionRow.answer_type.expression,
        InteractionRow.intent.expression,
        and_(to_people, exists().where(own)).label("handed"),
        and_(guess, not_(helped)).label("unsure"),
    )


def _asked(tenant: str, span: Span) -> tuple[ColumnElement[bool], ...]:
    return (
        InteractionRow.tenant == tenant,
        InteractionRow.created_at >= span.since,
        InteractionRow.created_at < span.until,
        InteractionRow.status.not_in(_WITHDRAWN),
    )


def _day(dialect: str, moment: ColumnElement[datetime]) -> ColumnElement[str]:
    """Return a moment's day of UTC, as ``2026-11-22``."""
    if dialect == "postgresql":
        return func.to_char(func.timezone("UTC", moment), "YYYY-MM-DD")
    return func.substr(moment, 1, 10)


def _seconds(
    dialect: str, since: ColumnElement[datetime], until: ColumnElement[datetime | None]
) -> ColumnElement[float]:
    if dialect == "postgresql":
        return func.date_part("epoch", until - since)
    return (func.julianday(until) - func.julianday(since)) * _DAY_SECONDS
