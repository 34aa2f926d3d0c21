"""Compute statistics, each with one statement over an index range.

Separate statements let other operations run in between on SQLite.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    case,
    exists,
    func,
    not_,
    select,
)

from bot.domain.handoff import question_of_person_request
from bot.domain.json_codec import Codec
from bot.domain.messages import Message
from bot.domain.record_reports import (
    HAND_OVER,
    MOST_CASES,
    MOST_QUESTIONS,
    DeliveryFailures,
    Figures,
    Percentiles,
    QuestionKind,
    Span,
    WaitingCases,
    by_day,
    kind_of,
    percentiles_of,
)
from bot.store.connections import Transactions
from bot.store.queries import not_withdrawn, utc_day
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoticeRow,
)

_ALL_STATES = ("open", "claimed", "answered", "resolved", "declined", "reopened")
"""All states, listed in the condition because the index begins with the state."""

_TIMED_ANSWERS = ("RAG", "CLARIFICATION", "ESCALATION_REQUIRED")
"""Answer types that needed a search; small talk and refusals are fast and would skew times."""

_DAY_SECONDS = 86_400


def count_kinds(
    dialect: str, tenant: str, span: Span, most: int
) -> Select[str, str, str, bool, bool, int]:
    """Return the query that counts the newest ``most`` questions by day, answer type and intent.

    Also by ``handed``, whether the question was itself escalated, and ``unsure``, whether the
    answer was a guess without a thumbs-up. Button presses that escalate a question
    (bot.domain.record_reports.HAND_OVER) are not counted as questions.
    """
    asked = (
        select(*_kind_columns(dialect))
        .where(*_asked_in_span(tenant, span), InteractionRow.answer_type != HAND_OVER)
        .order_by(InteractionRow.created_at.desc())
        .limit(most)
        .subquery()
    )
    key = asked.c.day, asked.c.answer_type, asked.c.intent, asked.c.handed, asked.c.unsure
    return select(*key, func.count().label("total")).group_by(*key)


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


def select_kinds_of(
    dialect: str, tenant: str, span: Span, ids: Sequence[str]
) -> Select[str, str, str, bool, bool]:
    """Return the query for the kinds of some questions, as before a press escalated them."""
    return select(*_kind_columns(dialect)).where(
        *_asked_in_span(tenant, span), InteractionRow.id.in_(ids)
    )


def count_votes(dialect: str, tenant: str, span: Span, most: int) -> Select[str, str, int]:
    """Return the query that counts the newest ``most`` votes by day and vote."""
    given = (
        select(utc_day(dialect, FeedbackRow.given_at.expression).label("day"), FeedbackRow.vote)
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


def select_answer_times(
    dialect: str, tenant: str, span: Span, most: int
) -> Select[int, float | None, float | None]:
    """Return the query for the number of timed answers and the 50th and 95th percentile.

    Seconds from question to outcome, by the nearest-rank method.
    """
    came, ended = InteractionRow.created_at.expression, InteractionRow.finished_at.expression
    finished = (
        select(_seconds_between(dialect, came, ended).label("took"))
        .where(*_asked_in_span(tenant, span), InteractionRow.answer_type.in_(_TIMED_ANSWERS))
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


def select_case_times(
    tenant: str, span: Span, most: int
) -> Select[datetime, datetime | None, datetime | None, datetime | None]:
    """Return the query for when cases were opened, claimed, replied to and resolved.

    The newest ``most``; the first claim and reply, the last resolution. A reply counts as a
    claim, too; a reopened case has no resolution until it is resolved again.
    """
    case_, step = EscalationRow, EscalationStepRow
    at = step.at.expression
    opened = (
        select(case_.interaction_id, case_.state, case_.opened_at)
        .where(
            case_.tenant == tenant,
            case_.state.in_(_ALL_STATES),
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


def count_cases_in(tenant: str, states: Sequence[str]) -> Select[int, datetime | None]:
    """Return the query for the number of cases in some states, and the oldest opening time."""
    return select(func.count(), func.min(EscalationRow.opened_at)).where(
        EscalationRow.tenant == tenant, EscalationRow.state.in_(states)
    )


def count_undelivered_answers(tenant: str, span: Span) -> Select[int]:
    """Return the query that counts the answers that could not be posted."""
    return select(func.count()).where(
        *_asked_in_span(tenant, span), InteractionRow.status == "failed"
    )


def count_failed_notices(tenant: str, span: Span) -> Select[int]:
    """Return the query that counts the undeliverable notices of cases opened in the span."""
    return (
        select(func.count())
        .select_from(NoticeRow)
        .join(EscalationRow, EscalationRow.interaction_id == NoticeRow.interaction_id)
        .where(
            EscalationRow.tenant == tenant,
            EscalationRow.state.in_(_ALL_STATES),
            EscalationRow.opened_at >= span.since,
            EscalationRow.opened_at < span.until,
            NoticeRow.due_at.is_(None),
            NoticeRow.failure != "",
        )
    )


def select_any_question(tenant: str) -> Select[str]:
    """Return the query for any one question of a tenant."""
    return select(InteractionRow.id).where(InteractionRow.tenant == tenant).limit(1)


def _kind_columns(
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
        utc_day(dialect, InteractionRow.created_at.expression).label("day"),
        InteractionRow.answer_type.expression,
        InteractionRow.intent.expression,
        and_(to_people, exists().where(own)).label("handed"),
        and_(guess, not_(helped)).label("unsure"),
    )


def _asked_in_span(tenant: str, span: Span) -> tuple[ColumnElement[bool], ...]:
    return (
        InteractionRow.tenant == tenant,
        InteractionRow.created_at >= span.since,
        InteractionRow.created_at < span.until,
        not_withdrawn(),
    )


def _seconds_between(
    dialect: str, since: ColumnElement[datetime], until: ColumnElement[datetime | None]
) -> ColumnElement[float]:
    if dialect == "postgresql":
        return func.date_part("epoch", until - since)
    return (func.julianday(until) - func.julianday(since)) * _DAY_SECONDS


_IDS_PER_STATEMENT = 500
"""The most ids in one statement."""


class StoredStatistics:
    """Computes statistics of a tenant.

    Each figure is a separate statement, so that other operations run in between on SQLite.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        most_questions: int = MOST_QUESTIONS,
        most_cases: int = MOST_CASES,
    ) -> None:
        self._transactions = transactions
        self._questions = most_questions
        self._cases = most_cases
        self._messages = Codec(Message)

    async def figures(self, tenant: str, span: Span) -> Figures:
        """Return the figures of a span: questions and votes per day, and response times."""
        dialect, most = self._transactions.dialect, self._questions
        kinds = await self._kinds(tenant, span)
        votes = await self._votes(count_votes(dialect, tenant, span, most))
        lives = await self._transactions.rows(select_case_times(tenant, span, self._cases))
        seen = max(_total(kinds), _total(votes))
        return Figures(
            span=span,
            days=by_day(span, kinds, votes),
            answering=await self._answering(tenant, span),
            claiming=_times_since_opened(lives, "claimed_at"),
            replying=_times_since_opened(lives, "replied_at"),
            resolving=_times_since_opened(lives, "resolved_at"),
            shortened=seen >= most or len(lives) >= self._cases,
        )

    async def waiting(self, tenant: str) -> WaitingCases:
        """Return the numbers of cases that wait for experts now."""
        ((unclaimed, since),) = await self._transactions.rows(
            count_cases_in(tenant, ("open", "reopened"))
        )
        ((claimed, _),) = await self._transactions.rows(
            count_cases_in(tenant, ("claimed", "answered"))
        )
        return WaitingCases(unclaimed, since, claimed)

    async def troubles(self, tenant: str, span: Span) -> DeliveryFailures:
        """Return the numbers of undeliverable answers and notices of a span."""
        ((answers,),) = await self._transactions.rows(count_undelivered_answers(tenant, span))
        ((news,),) = await self._transactions.rows(count_failed_notices(tenant, span))
        return DeliveryFailures(answers, news)

    async def any_question(self, tenant: str) -> bool:
        """Return whether the tenant has any stored question."""
        return bool(await self._transactions.rows(select_any_question(tenant)))

    async def _answering(self, tenant: str, span: Span) -> Percentiles:
        dialect, most = self._transactions.dialect, self._questions
        ((count, half, most_of),) = await self._transactions.rows(
            select_answer_times(dialect, tenant, span, most)
        )
        return Percentiles(count, float(half or 0), float(most_of or 0)) if count else Percentiles()

    async def _kinds(self, tenant: str, span: Span) -> Mapping[date, Counter[QuestionKind]]:
        """Count questions by day and kind; one escalated by a press counts as escalated."""
        dialect, most = self._transactions.dialect, self._questions
        counted: defaultdict[date, Counter[QuestionKind]] = defaultdict(Counter)
        kinds = count_kinds(dialect, tenant, span, most)
        for row in await self._transactions.rows(kinds):
            counted[date.fromisoformat(row.day)][_kind_of_row(row)] += row.total
        for ids in _batches(await self._pressed(tenant, span)):
            before = select_kinds_of(dialect, tenant, span, ids)
            for asked in await self._transactions.rows(before):
                counted[date.fromisoformat(asked.day)][_kind_of_row(asked)] -= 1
                counted[date.fromisoformat(asked.day)]["escalated"] += 1
        # Unary plus drops counts that are zero or negative.
        return {day: +kinds for day, kinds in counted.items()}

    async def _pressed(self, tenant: str, span: Span) -> Sequence[str]:
        """Return the ids of the questions that were escalated by a button press."""
        rows = await self._transactions.rows(select_hand_overs(tenant, span.since, self._questions))
        below = (question_of_person_request(self._messages.decode(row.message)) for row in rows)
        return [each for each in below if each is not None]

    async def _votes(self, statement: Select[str, str, int]) -> Mapping[date, Counter[str]]:
        counted: defaultdict[date, Counter[str]] = defaultdict(Counter)
        for day, vote, count in await self._transactions.rows(statement):
            counted[date.fromisoformat(day)][vote] += count
        return counted


def _kind_of_row(row: Row[*tuple[Any, ...]]) -> QuestionKind:
    return kind_of(row.answer_type, row.intent, handed=bool(row.handed), unsure=bool(row.unsure))


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (
        ids[start : start + _IDS_PER_STATEMENT] for start in range(0, len(ids), _IDS_PER_STATEMENT)
    )


def _total(counted: Mapping[date, Counter[Any]]) -> int:
    return sum(each.total() for each in counted.values())


def _times_since_opened(rows: Sequence[Any], step: str) -> Percentiles:
    """Return percentiles of the time from opening to a step.

    Negative times count as 0, because clocks of several servers may differ a little.
    """
    reached: list[tuple[datetime, datetime]] = [
        (row.opened_at, at) for row in rows if (at := getattr(row, step)) is not None
    ]
    return percentiles_of([max(0.0, (at - opened).total_seconds()) for opened, at in reached])
