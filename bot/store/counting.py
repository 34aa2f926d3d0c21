"""Counts what came and what was spent before a message; the same whenever it is asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from sqlalchemy import ColumnElement, Select, func, select

from bot.domain.json_codec import Codec, storable
from bot.domain.types import Message, Thread
from bot.domain.usage import Arrival, Spent
from bot.escalations.lifecycle import OWNED, WAITING
from bot.store.tables import EscalationRow, InteractionRow, UsageRow
from bot.store.transactions import Transactions


class StoredCounting:
    """Implements bot.limits.limits.CountsUse."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def arrival(self, interaction_id: str) -> Arrival | None:
        statement = _arrival(interaction_id)
        async with self._transactions.reading() as connection:
            row = (await connection.execute(statement)).first()
        return None if row is None else Arrival(*row)

    async def by_person(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int
    ) -> Sequence[datetime]:
        return await self._moments(by_person(tenant, arrival, within, most))

    async def in_channel(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int, each: int
    ) -> Sequence[datetime]:
        return await self._moments(in_channel(tenant, arrival, within, most, each))

    async def bot_turns(self, thread: Thread, arrival: Arrival, most: int) -> int:
        statement = last_in_thread(thread, arrival, most)
        async with self._transactions.reading() as connection:
            newest_first = (await connection.scalars(statement)).all()
        by_bots = (self._messages.decode(text).by_bot for text in newest_first)
        return len(list(takewhile(bool, by_bots)))

    async def spent(
        self, tenant: str, since: datetime, before: datetime, person: str | None = None
    ) -> Spent:
        statement = spent(tenant, since, before, person)
        async with self._transactions.reading() as connection:
            tokens, usd, unpriced = (await connection.execute(statement)).one()
        return Spent(int(tokens), float(usd or 0.0), int(unpriced))

    async def waiting_cases(self, tenant: str) -> Mapping[str, int]:
        """Count the escalations that are not settled, by their state."""
        async with self._transactions.reading() as connection:
            found = (await connection.execute(waiting(tenant))).all()
        return {state: count for state, count in found}  # noqa: C416 - a row is no pair to mypy

    async def _moments(self, statement: Select[datetime]) -> Sequence[datetime]:
        async with self._transactions.reading() as connection:
            return (await connection.scalars(statement)).all()


def waiting(tenant: str) -> Select[str, int]:
    """The unsettled escalations of a tenant, counted by state."""
    return (
        select(EscalationRow.state, func.count())
        .where(EscalationRow.tenant == tenant, EscalationRow.state.in_(sorted(WAITING | OWNED)))
        .group_by(EscalationRow.state)
    )


def _arrival(interaction_id: str) -> Select[int, datetime, str, str]:
    return select(
        InteractionRow.number,
        InteractionRow.created_at,
        InteractionRow.person,
        InteractionRow.channel,
    ).where(InteractionRow.id == interaction_id)


def by_person(tenant: str, arrival: Arrival, within: timedelta, most: int) -> Select[datetime]:
    """When a person's last messages before this one arrived, newest first."""
    return (
        select(InteractionRow.created_at)
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.person == arrival.person,
            *_around(arrival, within),
        )
        .order_by(InteractionRow.created_at.desc(), InteractionRow.number.desc())
        .limit(most)
    )


def in_channel(
    tenant: str, arrival: Arrival, within: timedelta, most: int, each: int
) -> Select[datetime]:
    """When a channel's last messages arrived, newest first, at most ``each`` of one person.

    So a person who floods takes no more of the channel than they are allowed themselves; 0 counts
    all.
    """
    newest_first = (InteractionRow.created_at.desc(), InteractionRow.number.desc())
    place = func.row_number().over(partition_by=InteractionRow.person, order_by=newest_first)
    placed = (
        select(InteractionRow.created_at, place.label("place"))
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.channel == arrival.channel,
            *_around(arrival, within),
        )
        .subquery()
    )
    counted = select(placed.c.created_at).order_by(placed.c.created_at.desc()).limit(most)
    return counted.where(placed.c.place <= each) if each else counted


def _around(arrival: Arrival, within: timedelta) -> tuple[ColumnElement[bool], ...]:
    """What came earlier and less than a window away, by whichever process's clock.

    Clocks of several processes differ, so one that came before may bear a later moment. What was
    overheard and left alone takes nothing from who addresses the bot.
    """
    counted = () if arrival.overheard else (~_silent_to("overheard"),)
    return (
        *counted,
        InteractionRow.created_at > arrival.at - within,
        InteractionRow.created_at < arrival.at + within,
        InteractionRow.number < arrival.number,
    )


def last_in_thread(thread: Thread, arrival: Arrival, most: int) -> Select[str]:
    """A thread's last messages before this one; other bots' that were left alone don't count."""
    return (
        select(InteractionRow.message)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            InteractionRow.number < arrival.number,
            ~_silent_to("by_bot"),
        )
        .order_by(InteractionRow.number.desc())
        .limit(most)
    )


def _silent_to(mark: str) -> ColumnElement[bool]:
    """Messages with a mark (a true field of Message) that nothing was said to.

    In the stored JSON a quote within somebody's words is escaped, so none of them can look like it.
    """
    marked = InteractionRow.message.contains(f'"{mark}": true', autoescape=True)
    return (InteractionRow.answer_type == "SILENT") & marked


def spent(
    tenant: str, since: datetime, before: datetime, person: str | None
) -> Select[int, float | None, int]:
    """Tokens, dollars and calls without a price, of everyone or of one person."""
    statement = select(
        func.coalesce(func.sum(UsageRow.input_tokens + UsageRow.output_tokens), 0),
        func.sum(UsageRow.cost_usd),
        func.count() - func.count(UsageRow.cost_usd),
    ).where(UsageRow.tenant == tenant, UsageRow.at >= since, UsageRow.at < before)
    return statement if person is None else statement.where(UsageRow.person == storable(person))
