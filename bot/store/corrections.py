"""Store the quotes of posted answers, and which answers are corrected because of which page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, and_, case, delete, func, select, update

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Interaction, Outcome
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.learning.corrections import CorrectedPage, Correction, CorrectionState
from bot.learning.quote_watch import PostedAnswer, WatchedQuote
from bot.store import queries
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import CitedQuoteRow, CorrectionRow
from bot.store.rows import Rows
from bot.store.tables import InteractionRow

_COUNTED = ("told", "noted", "refused")


class StoredCorrections:
    """Stores quotes and corrections.

    Implements CorrectionRecord, QuoteRecord and CorrectionReports of bot.learning.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows = Rows()

    async def posted(
        self, tenant: str, after: int, waiting: Collection[int], limit: int
    ) -> Sequence[PostedAnswer]:
        number = InteractionRow.number
        queried = [select_posted(tenant, number > after).limit(limit)]
        if waiting:
            # A query of its own: with both conditions SQLite reads all rows.
            queried.insert(0, select_posted(tenant, number.in_(sorted(waiting))))
        found = [await self._transactions.rows(each) for each in queried]
        return [
            PostedAnswer(
                number=row.number,
                id=InteractionId(row.id),
                asked_at=row.created_at,
                done=row.status not in {"working", "done"} or row.posted_id is not None,
                cites=row.status == "done" and row.answer_type == "RAG",
            )
            for row in chain.from_iterable(found)
        ]

    async def watch(self, tenant: str, quotes: Sequence[WatchedQuote]) -> None:
        if not quotes:
            return
        row = InteractionRow
        rows = [_quote_row(tenant, each) for each in quotes]
        async with self._transactions.writing() as connection:
            # Locked, so that a withdrawal comes before, or deletes what is written here.
            there = (
                select(row.id)
                .where(row.id == quotes[0].interaction_id, queries.not_withdrawn())
                .with_for_update()
            )
            if (await connection.execute(there)).first() is not None:
                dialect = self._transactions.dialect
                await connection.execute(queries.insert_once(dialect, CitedQuoteRow, *rows))

    async def forget(self, tenant: str, before: datetime) -> None:
        row = CitedQuoteRow
        await self._transactions.execute(
            delete(row).where(row.at < before, row.tenant == tenant), lasting=False
        )

    async def spaces(self, tenant: str) -> Sequence[str]:
        row = CitedQuoteRow
        return await self._transactions.scalars(
            select(row.space).where(row.tenant == tenant).distinct().order_by(row.space)
        )

    async def watched(self, tenant: str, space: str) -> Sequence[WatchedQuote]:
        row = CitedQuoteRow
        rows = await self._transactions.rows(
            select(row)
            .where(row.tenant == tenant, row.space == space)
            .order_by(row.interaction_id, row.number)
        )
        return [_quote_of(each) for each in rows]

    async def found(
        self, tenant: str, quotes: Sequence[WatchedQuote], corrections: Sequence[Correction]
    ) -> None:
        row, dialect = CitedQuoteRow, self._transactions.dialect
        async with self._transactions.writing() as connection:
            known = select(InteractionRow.id).where(
                InteractionRow.id.in_({each.interaction_id for each in corrections}),
                queries.not_withdrawn(),
            )
            there = set(await connection.scalars(known)) if corrections else set()
            for quote in quotes:
                await connection.execute(
                    update(row)
                    .where(row.interaction_id == quote.interaction_id, row.number == quote.number)
                    .values(seen=quote.seen, state=quote.state)
                )
            for each in corrections:
                if each.interaction_id in there:
                    values = _correction_row(tenant, each)
                    await connection.execute(
                        queries.upsert(dialect, CorrectionRow, values, key=("interaction_id",))
                    )

    async def held(self, tenant: str) -> Mapping[str, int]:
        row = CorrectionRow
        rows = await self._transactions.rows(
            select(row.space, func.count().label("corrections"))
            .where(row.tenant == tenant, row.state == "held")
            .group_by(row.space)
            .order_by(row.space)
        )
        return {each.space: each.corrections for each in rows}

    async def due(self, tenant: str, now: datetime, limit: int) -> Sequence[Correction]:
        row = CorrectionRow
        rows = await self._transactions.rows(
            select(row)
            .where(row.due_at <= now, row.tenant == tenant)
            .order_by(row.due_at, row.interaction_id)
            .limit(limit)
        )
        return [_correction_of(each) for each in rows]

    async def settled_since(self, tenant: str, since: datetime) -> Mapping[tuple[str, str], int]:
        row = CorrectionRow
        rows = await self._transactions.rows(
            select(row.space, row.page, func.count().label("corrections"))
            .where(row.tenant == tenant, row.settled_at > since, row.state.in_(_COUNTED))
            .group_by(row.space, row.page)
        )
        return {(each.space, each.page): each.corrections for each in rows}

    async def settle(
        self, tenant: str, correction: Correction, state: CorrectionState, now: datetime, why: str
    ) -> None:
        quote = CitedQuoteRow
        settled = {"state": state, "due_at": None, "settled_at": now, "failure": storable(why)}
        async with self._transactions.writing() as connection:
            await connection.execute(
                update(CorrectionRow).where(_is(tenant, correction)).values(**settled)
            )
            if state == "back":
                again = update(quote).where(quote.interaction_id == correction.interaction_id)
                await connection.execute(again.values(state="there"))

    async def later(self, tenant: str, correction: Correction, at: datetime, why: str) -> None:
        await self._transactions.execute(
            update(CorrectionRow)
            .where(_is(tenant, correction), CorrectionRow.state == "due")
            .values(due_at=at, attempts=correction.attempts, failure=storable(why))
        )

    async def remark(
        self, tenant: str, interaction_id: InteractionId, change: Callable[[Outcome], Outcome]
    ) -> Interaction | None:
        row = InteractionRow
        async with self._transactions.writing() as connection:
            try:
                asked = await self._rows.locked(connection, interaction_id)
            except InteractionUnknown:
                return None
            if asked.withdrawn or asked.outcome is None or asked.message.thread.tenant != tenant:
                return None
            columns = self._rows.outcome(change(asked.outcome))
            await connection.execute(
                update(row).where(row.id == interaction_id).values(outcome=columns["outcome"])
            )
            return await self._rows.locked(connection, interaction_id)

    async def decide(
        self, tenant: str, space: str, state: Literal["due", "dropped"], now: datetime, actor: str
    ) -> int:
        """Release or drop what is held back of a space, with an audit entry; return the number."""
        row = CorrectionRow
        due = {"found_at": now, "due_at": now} if state == "due" else {"settled_at": now}
        async with self._transactions.writing() as connection:
            changed = await connection.execute(
                update(row)
                .where(row.tenant == tenant, row.space == storable(space), row.state == "held")
                .values(state=state, **due)
            )
            if changed.rowcount:
                act = "corrections.release" if state == "due" else "corrections.drop"
                detail = str(changed.rowcount)
                await connection.execute(insert_audit(tenant, actor, act, space, detail=detail))
        return changed.rowcount

    async def pages(
        self, tenant: str, limit: int, offset: int, since: datetime | None = None
    ) -> Sequence[CorrectedPage]:
        wanted = select_corrected_pages(tenant)
        if since is not None:
            wanted = wanted.where(CorrectionRow.found_at >= since)
        rows = await self._transactions.rows(wanted.limit(limit).offset(offset))
        return [
            CorrectedPage(
                row.space, row.page, row.last_at, row.told, row.noted, row.refused, row.waiting
            )
            for row in rows
        ]


def select_posted(tenant: str, *which: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Return the query for interactions by number, in order."""
    row = InteractionRow
    return (
        select(row.number, row.id, row.created_at, row.status, row.posted_id, row.answer_type)
        .where(queries.is_of_tenant(row.tenant.expression, tenant), *which)
        .order_by(row.number)
    )


def select_corrected_pages(tenant: str) -> Select[*tuple[Any, ...]]:
    """Return the query for pages with the numbers of their corrections, the newest first."""
    row = CorrectionRow
    last = func.max(row.found_at)

    def number(name: str, *states: CorrectionState) -> ColumnElement[int]:
        return func.sum(case((row.state.in_(states), 1), else_=0)).label(name)

    return (
        select(
            row.space,
            row.page,
            last.label("last_at"),
            number("told", "told"),
            number("noted", "noted"),
            number("refused", "refused"),
            number("waiting", "due", "held"),
        )
        .where(row.tenant == tenant, row.state.not_in(("back", "dropped")))
        .group_by(row.space, row.page)
        .order_by(last.desc(), row.space, row.page)
    )


def _is(tenant: str, correction: Correction) -> ColumnElement[bool]:
    row = CorrectionRow
    # A newer finding is not settled with an older one.
    this = row.found_at == correction.found_at
    return and_(row.tenant == tenant, row.interaction_id == correction.interaction_id, this)


def _quote_row(tenant: str, quote: WatchedQuote) -> dict[str, object]:
    return {
        "interaction_id": quote.interaction_id,
        "number": quote.number,
        "tenant": tenant,
        "space": storable(quote.space),
        "page": storable(quote.page),
        "chunk": quote.chunk,
        "quote": storable(quote.quote),
        "at": quote.at,
        "seen": quote.seen,
        "state": quote.state,
    }


def _quote_of(row: Row[Any]) -> WatchedQuote:
    return WatchedQuote(
        InteractionId(row.interaction_id),
        row.number,
        row.space,
        row.page,
        row.chunk,
        row.quote,
        row.at,
        row.seen,
        row.state,
    )


def _correction_row(tenant: str, correction: Correction) -> dict[str, object]:
    return {
        "interaction_id": correction.interaction_id,
        "tenant": tenant,
        "space": storable(correction.space),
        "page": storable(correction.page),
        "found_at": correction.found_at,
        "state": correction.state,
        "due_at": correction.due_at,
        "attempts": correction.attempts,
        "settled_at": None,
        "failure": "",
    }


def _correction_of(row: Row[Any]) -> Correction:
    return Correction(
        InteractionId(row.interaction_id),
        row.space,
        row.page,
        row.found_at,
        row.state,
        row.due_at,
        row.attempts,
    )
