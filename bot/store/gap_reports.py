"""Read gaps for their views: counts within a span, and the questions of some gaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, select

from bot.domain.interactions import Interaction
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.domain.record_reports import Span
from bot.learning.gaps import GapMember, GapQuery, GapSummary
from bot.store.connections import Transactions
from bot.store.gaps import StoredGaps, counts, decode_passages
from bot.store.learning_tables import GapQuestionRow, GapRow
from bot.store.queries import MOST_WORDS, contains, is_of_tenant, not_withdrawn
from bot.store.tables import InteractionRow


class StoredGapReports:
    """Reads gaps with their counts. Implements bot.learning.gap_views.GapReports."""

    def __init__(self, transactions: Transactions, gaps: StoredGaps) -> None:
        self._transactions = transactions
        self._gaps = gaps

    async def listed(
        self, tenant: str, query: GapQuery, limit: int, offset: int
    ) -> Sequence[GapSummary]:
        statement = select_listed(tenant, query).limit(limit).offset(offset)
        return [_summary_of(row) for row in await self._transactions.rows(statement)]

    async def one(self, tenant: str, gap: str, span: Span) -> GapSummary | None:
        statement = _select_counted(tenant, span).where(GapRow.id == storable(gap))
        row = await self._transactions.first(statement)
        return None if row is None else _summary_of(row)

    async def members(
        self, tenant: str, gaps: Collection[str], limit: int
    ) -> Mapping[str, Sequence[GapMember]]:
        found: dict[str, list[GapMember]] = {gap: [] for gap in gaps}
        for row in await self._transactions.rows(select_members(tenant, gaps, limit)):
            found[row.gap].append(_member_of(row))
        return found

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        return await self._gaps.asked(tenant, ids)


def select_listed(tenant: str, query: GapQuery) -> Select[*tuple[Any, ...]]:
    """Return the query for the gaps with questions in a span, most asked or latest first.

    With words, only gaps that have them in one question, which its viewer may not be shown.
    """
    row = GapQuestionRow
    statement = _select_counted(tenant, query.span)
    order = ["last_at", "questions"] if query.recent_first else ["questions", "last_at"]
    statement = statement.having(_in_span_count(query.span) > 0)
    if query.states:
        statement = statement.where(GapRow.state.in_(sorted(query.states)))
    if words := storable(query.words).split()[:MOST_WORDS]:
        said = select(row.gap).where(
            row.tenant == tenant, *(contains(row.question, word) for word in words)
        )
        statement = statement.where(GapRow.id.in_(said))
    columns = {each.name: each for each in statement.selected_columns}
    return statement.order_by(*(columns[name].desc() for name in order), GapRow.id)


def select_members(tenant: str, gaps: Collection[str], limit: int) -> Select[*tuple[Any, ...]]:
    """Return the query for the newest questions of each of some gaps that count."""
    row = GapQuestionRow
    newest = (row.asked_at.desc(), row.interaction_id)
    place = func.row_number().over(partition_by=row.gap, order_by=newest)
    placed = (
        select(
            row.interaction_id,
            row.gap,
            InteractionRow.person.label("author"),
            row.person,
            row.question,
            row.request,
            row.public,
            row.asked_at,
            row.embedder,
            row.vector,
            row.passages,
            place.label("place"),
        )
        .join(InteractionRow, InteractionRow.id == row.interaction_id)
        .where(row.gap.in_(sorted(gaps)), is_of_tenant(row.tenant.expression, tenant))
        .where(counts(), not_withdrawn())
        .subquery()
    )
    return select(placed).where(placed.c.place <= limit).order_by(placed.c.gap, placed.c.place)


def _select_counted(tenant: str, span: Span) -> Select[*tuple[Any, ...]]:
    """Return the query for gaps with the counts of their questions."""
    row, gap = GapQuestionRow, GapRow
    asked = _in_span(span)
    before = and_(row.asked_at >= span.since - (span.until - span.since), row.asked_at < span.since)
    person = case((and_(asked, row.person != ""), row.person))
    return (
        select(
            gap.id,
            gap.state,
            gap.state_by,
            gap.state_at,
            gap.answered_by,
            _in_span_count(span).label("questions"),
            func.count(person.distinct()).label("people"),
            func.count(case((before, 1))).label("before"),
            func.count(row.interaction_id).label("total"),
            func.max(row.asked_at).label("last_at"),
        )
        .outerjoin(row, and_(row.gap == gap.id, counts()))
        .where(gap.tenant == tenant)
        .group_by(gap.id)
    )


def _in_span(span: Span) -> ColumnElement[bool]:
    row = GapQuestionRow
    return and_(row.asked_at >= span.since, row.asked_at < span.until)


def _in_span_count(span: Span) -> ColumnElement[int]:
    return func.count(case((_in_span(span), 1)))


def _summary_of(row: Row[*tuple[Any, ...]]) -> GapSummary:
    return GapSummary(
        id=row.id,
        state=row.state,
        state_by=row.state_by,
        state_at=row.state_at,
        questions=row.questions,
        people=row.people,
        before=row.before,
        total=row.total,
        last_at=row.last_at,
        answered_by=decode_passages(row.answered_by),
    )


def _member_of(row: Row[*tuple[Any, ...]]) -> GapMember:
    return GapMember(
        id=InteractionId(row.interaction_id),
        gap=row.gap,
        author=row.author,
        person=row.person,
        question=row.question,
        request=row.request,
        public=bool(row.public),
        asked_at=row.asked_at,
        embedder=row.embedder if row.vector else "",
        vector=row.vector or b"",
        passages=decode_passages(row.passages),
    )
