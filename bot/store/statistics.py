"""Compute statistics, each with one statement over an index range.

Separate statements let other operations run in between on SQLite.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, select

from bot.domain.handoff import question_of_person_request
from bot.domain.json_codec import Codec
from bot.domain.messages import Message
from bot.domain.record_reports import (
    EVERYTHING,
    MOST_CASES,
    MOST_QUESTIONS,
    DeliveryFailures,
    Figures,
    Percentiles,
    Scope,
    Span,
    WaitingCases,
    by_day,
    days_in,
    percentiles_of,
)
from bot.store.connections import Transactions
from bot.store.learning_tables import QuestionFactRow
from bot.store.question_counts import (
    Selection,
    Tallies,
    count_questions,
    seconds_between,
    select_hand_overs,
    select_questions,
)
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoticeRow,
)

ALL_STATES = ("open", "claimed", "answered", "resolved", "declined", "reopened")
"""All states, listed in the condition because the index begins with the state."""

_TIMED_ANSWERS = ("RAG", "CLARIFICATION", "ESCALATION_REQUIRED")
"""Answer types that needed a search; small talk and refusals are fast and would skew times."""


def count_votes(chosen: Selection, most: int) -> Select[str, str, int]:
    """Return the query that counts the newest ``most`` votes by day and vote."""
    given = (
        select(chosen.day(FeedbackRow.given_at.expression).label("day"), FeedbackRow.vote)
        .where(
            FeedbackRow.tenant == chosen.tenant,
            FeedbackRow.given_at >= chosen.span.since,
            FeedbackRow.given_at < chosen.span.until,
            *chosen.among(FeedbackRow.interaction_id.expression),
        )
        .order_by(FeedbackRow.given_at.desc())
        .limit(most)
        .subquery()
    )
    return select(given.c.day, given.c.vote, func.count()).group_by(given.c.day, given.c.vote)


def select_answer_times(chosen: Selection, most: int) -> Select[int, float | None, float | None]:
    """Return the query for the number of timed answers and the 50th and 95th percentile.

    Seconds from question to outcome, by the nearest-rank method.
    """
    came, ended = InteractionRow.created_at.expression, InteractionRow.finished_at.expression
    finished = (
        select(seconds_between(chosen.dialect, came, ended).label("took"))
        .outerjoin(QuestionFactRow, QuestionFactRow.interaction_id == InteractionRow.id)
        .where(*chosen.asked(), InteractionRow.answer_type.in_(_TIMED_ANSWERS))
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
    chosen: Selection, most: int
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
            case_.tenant == chosen.tenant,
            case_.state.in_(ALL_STATES),
            case_.opened_at >= chosen.span.since,
            case_.opened_at < chosen.span.until,
            *chosen.among(case_.interaction_id.expression),
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
        InteractionRow.tenant == tenant,
        InteractionRow.created_at >= span.since,
        InteractionRow.created_at < span.until,
        InteractionRow.status == "failed",
    )


def count_failed_notices(tenant: str, span: Span) -> Select[int]:
    """Return the query that counts the undeliverable notices of cases opened in the span."""
    return (
        select(func.count())
        .select_from(NoticeRow)
        .join(EscalationRow, EscalationRow.interaction_id == NoticeRow.interaction_id)
        .where(
            EscalationRow.tenant == tenant,
            EscalationRow.state.in_(ALL_STATES),
            EscalationRow.opened_at >= span.since,
            EscalationRow.opened_at < span.until,
            NoticeRow.due_at.is_(None),
            NoticeRow.failure != "",
        )
    )


def select_any_question(tenant: str) -> Select[str]:
    """Return the query for any one question of a tenant."""
    return select(InteractionRow.id).where(InteractionRow.tenant == tenant).limit(1)


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

    async def figures(
        self, tenant: str, span: Span, scope: Scope = EVERYTHING, zone: tzinfo = UTC
    ) -> Figures:
        """Return the figures of a span: questions and votes per day, and response times."""
        most = self._questions
        chosen = Selection(self._transactions.dialect, tenant, span, scope, zone)
        asked = await self._questions_of(chosen)
        votes = await self._votes(count_votes(chosen, most))
        lives = await self._transactions.rows(select_case_times(chosen, self._cases))
        seen = max(asked.seen, sum(each.total() for each in votes.values()))
        return Figures(
            span=span,
            days=by_day(days_in(span, zone), asked.days(), votes),
            groups=asked.groups(),
            answering=await self._answering(chosen),
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

    async def _answering(self, chosen: Selection) -> Percentiles:
        statement = select_answer_times(chosen, self._questions)
        ((count, half, most_of),) = await self._transactions.rows(statement)
        return Percentiles(count, float(half or 0), float(most_of or 0)) if count else Percentiles()

    async def _questions_of(self, chosen: Selection) -> Tallies:
        """Count questions; one that was escalated by a press counts as escalated."""
        counted = Tallies()
        for row in await self._transactions.rows(count_questions(chosen, self._questions)):
            counted.add(row)
        for ids in _batches(await self._pressed(chosen)):
            for row in await self._transactions.rows(select_questions(chosen, ids)):
                counted.hand_over(row)
        return counted

    async def _pressed(self, chosen: Selection) -> Sequence[str]:
        """Return the ids of the questions that were escalated by a button press."""
        pressed = select_hand_overs(chosen.tenant, chosen.span.since, self._questions)
        rows = await self._transactions.rows(pressed)
        below = (question_of_person_request(self._messages.decode(row.message)) for row in rows)
        return [each for each in below if each is not None]

    async def _votes(self, statement: Select[str, str, int]) -> Mapping[date, Counter[str]]:
        counted: defaultdict[date, Counter[str]] = defaultdict(Counter)
        for day, vote, count in await self._transactions.rows(statement):
            counted[date.fromisoformat(day)][vote] += count
        return counted


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (
        ids[start : start + _IDS_PER_STATEMENT] for start in range(0, len(ids), _IDS_PER_STATEMENT)
    )


def _times_since_opened(rows: Sequence[Any], step: str) -> Percentiles:
    """Return percentiles of the time from opening to a step.

    Negative times count as 0, because clocks of several servers may differ a little.
    """
    reached: list[tuple[datetime, datetime]] = [
        (row.opened_at, at) for row in rows if (at := getattr(row, step)) is not None
    ]
    return percentiles_of([max(0.0, (at - opened).total_seconds()) for opened, at in reached])
