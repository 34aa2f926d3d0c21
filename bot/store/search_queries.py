"""SQL statements of searches within one tenant, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    and_,
    case,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute

from bot.domain.json_codec import storable
from bot.domain.messages import Intent
from bot.domain.record_reports import HAND_OVER
from bot.domain.record_search import Cursor, FeedbackQuery, QuestionQuery
from bot.escalations.lifecycle import OWNED
from bot.store.tables import EscalationRow, FeedbackRow, InteractionRow, TurnRow, Utc

MOST_WORDS = 8
WITHDRAWN = ("cancelling", "cancelled")


Window = Subquery
"""A run of a tenant's questions, newest first, with the columns of the covering index."""


def select_window(tenant: str, query: QuestionQuery, size: int, after: Cursor | None) -> Window:
    """Return the next ``size`` questions in the query's span and of its person.

    The other conditions are applied by `select_matches`.
    """
    row = InteractionRow
    columns = (
        row.number,
        row.created_at,
        row.id,
        row.status,
        row.intent,
        row.answer_type,
        row.confidence,
        row.confidence_level,
        row.channel,
    )
    statement = (
        select(*columns)
        .where(row.tenant == tenant, *_span_conditions(query))
        .order_by(row.created_at.desc(), row.number.desc())
        .limit(size)
    )
    if after is not None:
        place = (literal(after.at, Utc()), literal(int(after.key[0])))
        statement = statement.where(tuple_(row.created_at, row.number) < tuple_(*place))
    return statement.subquery("looked_at")


def select_matches(window: Window, query: QuestionQuery, limit: int) -> Select[int, datetime]:
    """Return the query for the questions of a window that match, newest first."""
    return (
        select(window.c.number, window.c.created_at)
        .where(
            window.c.status.not_in(WITHDRAWN),
            window.c.answer_type != HAND_OVER,
            *_kind_conditions(window, query),
            *_word_conditions(window, query),
        )
        .order_by(window.c.created_at.desc(), window.c.number.desc())
        .limit(limit)
    )


def select_window_end(window: Window) -> Select[datetime, int, int]:
    """Return the query for the oldest question of a window and the window's size."""
    return (
        select(window.c.created_at, window.c.number, func.count().over().label("size"))
        .order_by(window.c.created_at, window.c.number)
        .limit(1)
    )


def select_questions(numbers: Sequence[int]) -> Select[*tuple[Any, ...]]:
    """Return the query for the columns of questions to list, newest first."""
    row = InteractionRow
    state = select(EscalationRow.state).where(EscalationRow.interaction_id == row.id)
    return (
        select(
            row.id,
            row.created_at,
            row.channel,
            row.message,
            row.status,
            row.intent,
            row.answer_type,
            row.confidence,
            row.confidence_level,
            case((_was_refused(row), row.outcome)).label("refused"),
            _vote_count("up").label("ups"),
            _vote_count("down").label("downs"),
            state.scalar_subquery().label("case"),
        )
        .where(row.number.in_(numbers))
        .order_by(row.created_at.desc(), row.number.desc())
    )


def select_case_states(ids: Sequence[str]) -> Select[str, str]:
    """Return the query for the states of escalations by interaction id."""
    row = EscalationRow
    return select(row.interaction_id, row.state).where(row.interaction_id.in_(ids))


def select_feedback(
    tenant: str, query: FeedbackQuery, limit: int, after: Cursor | None
) -> Select[*tuple[Any, ...]]:
    """Return the query for feedback with the rated question, newest first."""
    row = FeedbackRow
    key = (row.given_at, row.interaction_id, row.person)
    statement = (
        select(
            row, TurnRow.text.label("question"), InteractionRow.answer_type, InteractionRow.message
        )
        .join(InteractionRow, InteractionRow.id == row.interaction_id)
        .join(
            TurnRow,
            and_(TurnRow.interaction_id == row.interaction_id, TurnRow.role == "user"),
            isouter=True,
        )
        .where(row.tenant == tenant, *_feedback_conditions(query))
        .order_by(*(column.desc() for column in key))
        .limit(limit)
    )
    if after is None:
        return statement
    place = (literal(after.at, Utc()), *(literal(storable(part)) for part in after.key))
    return statement.where(tuple_(*key) < tuple_(*place))


def count_feedback(tenant: str, since: datetime) -> Select[str, str | None, int]:
    """Return the query that counts feedback by vote and reason."""
    row = FeedbackRow
    return (
        select(row.vote, row.reason, func.count().label("total"))
        .where(row.tenant == tenant, row.given_at >= since)
        .group_by(row.vote, row.reason)
    )


def count_cases(tenant: str, owner_id: str) -> Select[str, int, int]:
    """Return the query that counts cases by state, and those of them owned by ``owner_id``."""
    row = EscalationRow
    own = case((and_(row.state.in_(OWNED), row.owner == owner_id), 1), else_=0)
    return (
        select(row.state, func.count().label("total"), func.sum(own).label("own"))
        .where(row.tenant == tenant)
        .group_by(row.state)
    )


def _span_conditions(query: QuestionQuery) -> list[ColumnElement[bool]]:
    row = InteractionRow
    bounds: list[ColumnElement[bool]] = []
    if query.person_id:
        bounds.append(row.person == storable(query.person_id))
    if query.since is not None:
        bounds.append(row.created_at >= query.since)
    if query.until is not None:
        bounds.append(row.created_at < query.until)
    return bounds


def _kind_conditions(window: Window, query: QuestionQuery) -> list[ColumnElement[bool]]:
    kinds: list[ColumnElement[bool]] = []
    if query.answer_type is not None:
        kinds.append(window.c.answer_type == query.answer_type)
    if query.refused is not None:
        refused = _was_refused(window.c)
        kinds.append(refused if query.refused else not_(refused))
    if query.level is not None:
        kinds.append(window.c.confidence_level == query.level)
    if query.intent is not None:
        kinds.append(window.c.intent == query.intent.value)
    if query.platform:
        own = window.c.channel.startswith(f"{storable(query.platform)}:", autoescape=True)
        kinds.append(own)
    if query.least is not None:
        kinds.append(window.c.confidence >= query.least)
    if query.most is not None:
        kinds.append(window.c.confidence <= query.most)
    return kinds


def _word_conditions(window: Window, query: QuestionQuery) -> list[ColumnElement[bool]]:
    said: list[ColumnElement[bool]] = []
    if words := storable(query.words).split()[:MOST_WORDS]:
        own = (TurnRow.interaction_id == window.c.id, TurnRow.role == "user")
        said.append(exists().where(*own, *(contains(TurnRow.text, word) for word in words)))
    judged = FeedbackRow.interaction_id == window.c.id
    if query.vote == "none":
        said.append(not_(exists().where(judged)))
    elif query.vote is not None:
        said.append(exists().where(judged, FeedbackRow.vote == query.vote))
    return said


def contains(column: InstrumentedAttribute[str], word: str) -> ColumnElement[bool]:
    """Return the condition that a text contains a word, case-insensitively.

    SQLite, and PostgreSQL with the C locale, fold the case of a to z only; a word with other
    letters is searched in its usual spellings (as given, lower, upper, capitalized).
    """
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return or_(*(column.icontains(each, autoescape=True) for each in sorted(spellings)))


def _was_refused(row: Any) -> ColumnElement[bool]:  # noqa: ANN401 - a table's row, or a window's
    """Return the condition that a message was refused, as in bot.domain.record_reports.kind_of."""
    return and_(row.answer_type == "GENERIC", row.intent == Intent.UNKNOWN.value)


def _feedback_conditions(query: FeedbackQuery) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if query.vote is not None:
        wanted.append(FeedbackRow.vote == query.vote)
    if query.reason is not None:
        wanted.append(FeedbackRow.reason == query.reason)
    if query.commented:
        wanted.append(FeedbackRow.comment.is_not(None))
    return wanted


def _vote_count(vote: str) -> ColumnElement[int]:
    return (
        select(func.count())
        .where(FeedbackRow.interaction_id == InteractionRow.id, FeedbackRow.vote == vote)
        .scalar_subquery()
    )
