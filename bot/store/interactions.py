"""The record of what was asked and answered, over SQL tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import InteractionUnknown
from bot.domain.json_codec import storable
from bot.domain.types import (
    Activity,
    Feedback,
    Interaction,
    InteractionId,
    Message,
    Platform,
    PostedRef,
    Stage,
    Thread,
)
from bot.store import queries
from bot.store.rows import Rows, feedback_of
from bot.store.tables import InteractionRow
from bot.store.transactions import Transactions


class StoredInteractions:
    """Implements bot.domain.ports.Interactions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows = Rows()

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return await self._first(queries.interaction(interaction_id))

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        return await self._first(queries.posted_at(tenant, ref))

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return what a person asked last in a channel, of what has an outcome."""
        return await self._first(
            queries.newest_of(Thread(platform, tenant, channel, ""), person_id)
        )

    async def in_thread(
        self, thread: Thread, limit: int, before: int | None = None
    ) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first; withdrawn ones left out.

        With ``before``, those that arrived before that number.
        """
        return await self._oldest_first(queries.in_thread(thread, limit, before))

    async def answered(self, tenant: str, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a tenant that have an outcome, oldest first."""
        return await self._oldest_first(queries.answered(tenant, limit))

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        return await self._oldest_first(queries.history(thread, before.interaction_id, limit))

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Activity]:
        async with self._transactions.reading(urgent=True) as connection:
            rows = await connection.execute(queries.stages(interaction_id, after))
            return [Activity(Stage(stage), pages) for stage, pages in rows]

    async def rate(self, feedback: Feedback) -> None:
        """Keep a judgement. Raises InteractionUnknown."""
        async with self._transactions.writing() as connection:
            rated = await self._one(connection, feedback.interaction_id)
            await connection.execute(
                queries.rate(
                    self._transactions.dialect,
                    rated.message.thread.tenant,
                    _feedback_row(feedback),
                )
            )

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(queries.unrate(interaction_id, storable(person_id)))

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]:
        async with self._transactions.reading() as connection:
            rows = await connection.execute(queries.feedback(interaction_id))
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
        row = (await connection.execute(queries.held(interaction_id))).first()
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
