"""Who asked lately, by the address that their platform vouched for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, func, select

from bot.domain.json_codec import Codec
from bot.domain.types import Message
from bot.store.tables import InteractionRow
from bot.store.transactions import Transactions


class StoredAskers:
    """Reads people, and nothing of what they asked."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def emails(self, tenant: str, since: datetime, most: int) -> Sequence[str]:
        """Return the addresses of whoever asked last, each once; who has none is left out."""
        async with self._transactions.reading() as connection:
            found = (await connection.scalars(newest_of_each(tenant, since, most))).all()
        authors = (self._messages.decode(text).author for text in found)
        return list(dict.fromkeys(one.email.casefold() for one in authors if one.email))


def newest_of_each(tenant: str, since: datetime, most: int) -> Select[str]:
    """The newest message of each person since a moment, of those who asked last first."""
    newest = (
        select(func.max(InteractionRow.number))
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.created_at >= since,
            InteractionRow.status.not_in(("cancelling", "cancelled")),
        )
        .group_by(InteractionRow.person)
    )
    return (
        select(InteractionRow.message)
        .where(InteractionRow.number.in_(newest))
        .order_by(InteractionRow.number.desc())
        .limit(most)
    )
