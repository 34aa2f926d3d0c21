"""What calls of models came to."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, func, select

from bot.domain.record_reports import Dimension, Span, UsageSum
from bot.store.tables import UsageRow
from bot.store.transactions import Transactions


class StoredUsage:
    """Sums the recorded calls."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def sums(
        self, span: Span, by: Dimension, tenant: str | None = None
    ) -> Sequence[UsageSum]:
        """Sum a span up: days in order, everything else by tokens, most first.

        Without a ``tenant`` over all of them.
        """
        statement = sums(self._transactions.dialect, span, by, tenant)
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(statement)).all()
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


def sums(
    dialect: str, span: Span, by: Dimension, tenant: str | None
) -> Select[str, int, int, int, float | None, int]:
    """One row a key."""
    key = _day(dialect) if by == "day" else _column(by)
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


def _column(by: Dimension) -> ColumnElement[str]:
    columns: dict[str, ColumnElement[str]] = {
        "model": UsageRow.model.expression,
        "channel": UsageRow.channel.expression,
        "person": UsageRow.person.expression,
        "tenant": UsageRow.tenant.expression,
    }
    return columns[by]


def _day(dialect: str) -> ColumnElement[str]:
    if dialect == "postgresql":
        return func.to_char(func.timezone("UTC", UsageRow.at), "YYYY-MM-DD")
    return func.strftime("%Y-%m-%d", UsageRow.at)
