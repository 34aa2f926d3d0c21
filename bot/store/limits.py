"""Counts for rate and budget limits: arrived messages and model calls.

Counts include only what arrived before a message, so that repeating a check gives the same
result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import takewhile

from sqlalchemy import ColumnElement, Integer, Select, bindparam, func, insert, select

from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId, Message, Thread
from bot.domain.record_reports import Dimension, Span, UsageSum
from bot.domain.usage import Arrival, RecentUse, Spent, UsageLimits
from bot.escalations.lifecycle import OWNED, WAITING
from bot.store.connections import Transactions
from bot.store.queries import Prepared, utc_day
from bot.store.rows import call_rows
from bot.store.tables import EscalationRow, InteractionRow, UsageRow
from rag.types import ModelCall


class StoredCounting:
    """Counts messages and usage for limits. Implements `bot.domain.usage.UsageCounts`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def recent(
        self, message: Message, within: timedelta, limits: UsageLimits
    ) -> RecentUse | None:
        async with self._transactions.reading() as connection:
            asked = {"interaction": message.interaction_id}
            row = (await connection.execute(_select_arrival(), asked)).first()
            if row is None:
                return None
            arrival = Arrival(*row, overheard=message.overheard)
            place = message.thread.tenant, arrival, within
            own: Sequence[datetime] = []
            here: Sequence[datetime] = []
            if limits.per_user:
                query = select_arrivals_of_person(*place, limits.per_user)
                own = (await connection.scalars(*query)).all()
            if limits.per_channel:
                query = select_arrivals_in_channel(*place, limits.per_channel, limits.per_user)
                here = (await connection.scalars(*query)).all()
            return RecentUse(arrival, own, here)

    async def bot_turns(self, thread: Thread, arrival: Arrival, most: int) -> int:
        statement = select_last_in_thread(thread, arrival, most)
        newest_first = await self._transactions.scalars(statement)
        by_bots = (self._messages.decode(text).by_bot for text in newest_first)
        return len(list(takewhile(bool, by_bots)))

    async def spent(
        self, tenant: str, since: datetime, before: datetime, person: str | None = None
    ) -> Spent:
        statement = select_spent(tenant, since, before, person)
        ((tokens, usd, unpriced),) = await self._transactions.rows(statement)
        return Spent(int(tokens), float(usd or 0.0), int(unpriced))

    async def waiting_cases(self, tenant: str) -> Mapping[str, int]:
        """Return the number of unsettled escalations by state."""
        found = await self._transactions.rows(count_waiting_cases(tenant))
        return {state: count for state, count in found}  # noqa: C416 - a row is no pair to mypy


def count_waiting_cases(tenant: str) -> Select[str, int]:
    """Return the query that counts the unsettled escalations of a tenant by state."""
    return (
        select(EscalationRow.state, func.count())
        .where(EscalationRow.tenant == tenant, EscalationRow.state.in_(sorted(WAITING | OWNED)))
        .group_by(EscalationRow.state)
    )


@cache
def _select_arrival() -> Select[int, datetime, str, str]:
    row = InteractionRow
    return select(row.number, row.created_at, row.person, row.channel).where(
        row.id == bindparam("interaction")
    )


def select_arrivals_of_person(
    tenant: str, arrival: Arrival, within: timedelta, most: int
) -> Prepared[Select[datetime]]:
    """Return the query for the arrival times of a person's messages before this one.

    Newest first, at most ``most``.
    """
    values = {"tenant": tenant, "person": arrival.person, "most": most}
    query = _select_arrivals_of_person(overheard=arrival.overheard)
    return query, {**values, **_window(arrival, within)}


@cache
def _select_arrivals_of_person(*, overheard: bool) -> Select[datetime]:
    return (
        select(InteractionRow.created_at)
        .where(
            InteractionRow.tenant == bindparam("tenant"),
            InteractionRow.person == bindparam("person"),
            *_within_window(overheard=overheard),
        )
        .order_by(InteractionRow.created_at.desc(), InteractionRow.number.desc())
        .limit(bindparam("most", type_=Integer))
    )


def select_arrivals_in_channel(
    tenant: str, arrival: Arrival, within: timedelta, most: int, each: int
) -> Prepared[Select[datetime]]:
    """Return the query for the arrival times of a channel's messages before this one.

    Newest first, at most ``most``, and at most ``each`` per person (0: no limit), so that a
    flooding person uses no more of the channel's limit than their own allows.
    """
    values = {"tenant": tenant, "channel": arrival.channel, "most": most}
    limited = {"each": each} if each else {}
    query = _select_arrivals_in_channel(overheard=arrival.overheard, limited=bool(each))
    return query, {**values, **limited, **_window(arrival, within)}


@cache
def _select_arrivals_in_channel(*, overheard: bool, limited: bool) -> Select[datetime]:
    newest_first = (InteractionRow.created_at.desc(), InteractionRow.number.desc())
    place = func.row_number().over(partition_by=InteractionRow.person, order_by=newest_first)
    placed = (
        select(InteractionRow.created_at, place.label("place"))
        .where(
            InteractionRow.tenant == bindparam("tenant"),
            InteractionRow.channel == bindparam("channel"),
            *_within_window(overheard=overheard),
        )
        .subquery()
    )
    counted = (
        select(placed.c.created_at)
        .order_by(placed.c.created_at.desc())
        .limit(bindparam("most", type_=Integer))
    )
    return counted.where(placed.c.place <= bindparam("each", type_=Integer)) if limited else counted


def _window(arrival: Arrival, within: timedelta) -> Mapping[str, object]:
    """Return the parameters of ``_within_window``."""
    return {
        "after": arrival.at - within,
        "before": arrival.at + within,
        "number": arrival.number,
    }


def _within_window(*, overheard: bool) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for messages that arrived earlier, less than a window away.

    The window extends both ways, because clocks of processes differ and an earlier message may
    have a later time. Overheard messages that got no reply do not count against messages
    addressed to the bot.
    """
    counted = () if overheard else (~_left_alone("overheard"),)
    return (
        *counted,
        InteractionRow.created_at > bindparam("after"),
        InteractionRow.created_at < bindparam("before"),
        InteractionRow.number < bindparam("number"),
    )


def select_last_in_thread(thread: Thread, arrival: Arrival, most: int) -> Select[str]:
    """Return the query for a thread's last messages before this one, newest first.

    Messages of other bots that got no reply are left out.
    """
    return (
        select(InteractionRow.message)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            InteractionRow.number < arrival.number,
            ~_left_alone("by_bot"),
        )
        .order_by(InteractionRow.number.desc())
        .limit(most)
    )


def _left_alone(mark: str) -> ColumnElement[bool]:
    """Return the condition for silently handled messages whose field ``mark`` is true.

    The stored JSON is searched as text: quotes within users' texts are escaped there, so that no
    text can imitate the field.
    """
    marked = InteractionRow.message.contains(f'"{mark}": true', autoescape=True)
    return (InteractionRow.answer_type == "SILENT") & marked


def select_spent(
    tenant: str, since: datetime, before: datetime, person: str | None
) -> Select[int, float | None, int]:
    """Return the query for tokens, US dollars and unpriced calls, of all or of one person."""
    statement = select(
        func.coalesce(func.sum(UsageRow.input_tokens + UsageRow.output_tokens), 0),
        func.sum(UsageRow.cost_usd),
        func.count() - func.count(UsageRow.cost_usd),
    ).where(UsageRow.tenant == tenant, UsageRow.at >= since, UsageRow.at < before)
    return statement if person is None else statement.where(UsageRow.person == storable(person))


class StoredUsage:
    """Sums the recorded model calls, and records those that answer nobody."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def sums(
        self, span: Span, by: Dimension, tenant: str | None = None
    ) -> Sequence[UsageSum]:
        """Return the usage of a span grouped by a dimension.

        Days are in order, other keys by tokens, most first. Without ``tenant``, of all tenants.
        """
        statement = select_usage_sums(self._transactions.dialect, span, by, tenant)
        rows = await self._transactions.rows(statement)
        return [
            UsageSum(
                key=row.key,
                calls=row.calls,
                input_tokens=int(row.input_tokens),
                output_tokens=int(row.output_tokens),
                cost_usd=float(row.cost_usd or 0),
                unpriced_calls=row.calls - row.priced_calls,
            )
            for row in rows
        ]

    async def record(
        self, tenant: str, interaction_id: InteractionId, calls: Sequence[ModelCall], purpose: str
    ) -> None:
        """Record model calls that were made about a question, and that count for nobody."""
        if not calls:
            return
        row = UsageRow
        last = select(func.coalesce(func.max(row.sequence), 0))
        async with self._transactions.writing() as connection:
            begun = await connection.scalar(last.where(row.interaction_id == interaction_id)) or 0
            rows = call_rows(tenant, interaction_id, calls, after=begun)
            purposes = {"purpose": purpose, "channel": "", "person": ""}
            await connection.execute(insert(row), [{**each, **purposes} for each in rows])


def select_usage_sums(
    dialect: str, span: Span, by: Dimension, tenant: str | None
) -> Select[str, int, int, int, float | None, int]:
    """Return the query for usage sums, one row per key of the dimension."""
    key = utc_day(dialect, UsageRow.at.expression) if by == "day" else _group_column(by)
    tokens = func.sum(UsageRow.input_tokens + UsageRow.output_tokens)
    statement = (
        select(
            key.label("key"),
            func.count().label("calls"),
            func.sum(UsageRow.input_tokens).label("input_tokens"),
            func.sum(UsageRow.output_tokens).label("output_tokens"),
            func.sum(UsageRow.cost_usd).label("cost_usd"),
            func.count(UsageRow.cost_usd).label("priced_calls"),
        )
        .where(UsageRow.at >= span.since, UsageRow.at < span.until)
        .group_by(key)
        .order_by(*([key] if by == "day" else [tokens.desc(), key]))
    )
    return statement if tenant is None else statement.where(UsageRow.tenant == tenant)


def _group_column(by: Dimension) -> ColumnElement[str]:
    columns: dict[str, ColumnElement[str]] = {
        "model": UsageRow.model.expression,
        "channel": UsageRow.channel.expression,
        "person": UsageRow.person.expression,
        "tenant": UsageRow.tenant.expression,
    }
    return columns[by]
