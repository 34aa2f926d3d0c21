"""Stores to read interactions, rate answers, and list recent askers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Feedback, Interaction, PostedRef
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Activity, InteractionId, Message, Platform, Stage, Thread
from bot.store import queries
from bot.store.connections import Transactions
from bot.store.rows import Rows, feedback_of
from bot.store.tables import InteractionRow


class StoredInteractions:
    """Reads interactions and stores feedback. Implements `bot.domain.ports.Interactions`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows = Rows()

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return await self._first(queries.select_interaction(interaction_id))

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        return await self._first(queries.select_posted_at(tenant, ref))

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return a person's newest interaction with an outcome in a channel."""
        return await self._first(
            queries.select_newest_of(Thread(platform, tenant, channel, ""), person_id)
        )

    async def in_thread(
        self, thread: Thread, limit: int, before: int | None = None
    ) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first; withdrawn ones left out.

        With ``before``, only those with a lower number.
        """
        return await self._oldest_first(queries.select_in_thread(thread, limit, before))

    async def answered(self, tenant: str, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a tenant that have an outcome, oldest first."""
        return await self._oldest_first(queries.select_answered(tenant, limit))

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        return await self._oldest_first(
            queries.select_history(thread, before.interaction_id, limit)
        )

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Activity]:
        async with self._transactions.reading(urgent=True) as connection:
            rows = await connection.execute(queries.select_stages(interaction_id, after))
            return [Activity(Stage(stage), pages) for stage, pages in rows]

    async def rate(self, feedback: Feedback) -> None:
        """Store feedback, replacing the person's earlier one. Raises InteractionUnknown."""
        async with self._transactions.writing() as connection:
            rated = await self._one(connection, feedback.interaction_id)
            await connection.execute(
                queries.upsert_feedback(
                    self._transactions.dialect,
                    rated.message.thread.tenant,
                    _feedback_row(feedback),
                )
            )

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(queries.delete_feedback(interaction_id, storable(person_id)))

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]:
        async with self._transactions.reading() as connection:
            rows = await connection.execute(queries.select_feedback(interaction_id))
            return [feedback_of(row) for row in rows]

    async def _first(self, statement: Select[InteractionRow]) -> Interaction | None:
        async with self._transactions.reading(urgent=True) as connection:
            row = (await connection.execute(statement)).first()
        return None if row is None else self._rows.interaction(row)

    async def _oldest_first(self, newest_first: Select[InteractionRow]) -> Sequence[Interaction]:
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(newest_first)).all()
        return [self._rows.interaction(row) for row in reversed(rows)]

    async def _one(self, connection: AsyncConnection, interaction_id: str) -> Interaction:
        row = (
            await connection.execute(queries.select_interaction_for_update(interaction_id))
        ).first()
        if row is None:
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r}. Use the id that the question's "
                "answer came with."
            )
        return self._rows.interaction(row)


def _feedback_row(feedback: Feedback) -> dict[str, object]:
    return {
        "interaction_id": feedback.interaction_id,
        "person": storable(feedback.person_id),
        "vote": feedback.vote,
        "rating": feedback.rating,
        "reason": feedback.reason,
        "comment": None if feedback.comment is None else storable(feedback.comment),
        "given_at": feedback.given_at,
    }


class StoredAskers:
    """Lists people who asked recently, without what they asked."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def emails(self, tenant: str, since: datetime, most: int) -> Sequence[str]:
        """Return the distinct e-mail addresses of the latest askers since a time, if known."""
        async with self._transactions.reading() as connection:
            found = (
                await connection.scalars(select_newest_of_each_person(tenant, since, most))
            ).all()
        authors = (self._messages.decode(text).author for text in found)
        return list(dict.fromkeys(one.email.casefold() for one in authors if one.email))


def select_newest_of_each_person(tenant: str, since: datetime, most: int) -> Select[str]:
    """Return the query for each person's newest message since a time, latest first."""
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
