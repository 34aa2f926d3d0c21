"""The record of what was asked and answered, over SQL tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

from sqlalchemy import Row, Select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import InteractionUnknown
from bot.store import queries
from bot.store.codec import Codec, storable
from bot.store.tables import InteractionRow, TurnRow
from bot.store.transactions import Transactions
from bot.types import (
    Feedback,
    Interaction,
    InteractionId,
    Message,
    Outcome,
    PostedRef,
    Stage,
    Thread,
)
from rag.types import Turn


class StoredInteractions:
    """Implements bot.ports.Interactions.

    A conversation's turns are written together when an outcome is recorded: the question as it
    was last edited and the public text of the response. Private replies are never among them.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)
        self._outcomes = Codec(Outcome)

    async def open(self, message: Message) -> Interaction:
        row = {
            "id": message.interaction_id,
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "person": storable(message.author.id),
            "status": "working",
            "message": self._messages.encode(message),
            "created_at": _now(),
        }
        async with self._transactions.writing() as connection:
            await connection.execute(
                queries.insert_once(self._transactions.dialect, InteractionRow, row)
            )
            return await self._one(connection, message.interaction_id)

    async def close(self, interaction_id: InteractionId, outcome: Outcome) -> None:
        done = queries.finish(interaction_id, "done", _now(), self._outcomes.encode(outcome))
        async with self._transactions.writing() as connection:
            recorded = await self._one(connection, interaction_id)
            if (await connection.execute(done)).rowcount:
                message = recorded.message
                await self._add_turn(connection, message, Turn("user", message.text))
                await self._add_turn(connection, message, Turn("assistant", outcome.response.text))

    async def fail(self, interaction_id: InteractionId) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(queries.finish(interaction_id, "failed", _now()))

    async def cancel(self, interaction_id: InteractionId) -> None:
        async with self._transactions.writing() as connection:
            interaction = await self._one(connection, interaction_id)
            blank = self._messages.encode(replace(interaction.message, text="", reply_to=""))
            await connection.execute(queries.forget(interaction_id, blank, _now()))
            for statement in queries.forget_rows(interaction_id):
                await connection.execute(statement)

    async def amend(self, message: Message) -> bool:
        statement = queries.replace_message(message.interaction_id, self._messages.encode(message))
        async with self._transactions.writing() as connection:
            return bool((await connection.execute(statement)).rowcount)

    async def posted(self, interaction_id: InteractionId, ref: PostedRef) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(queries.mark_posted(interaction_id, ref))

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return await self._first(queries.interaction(interaction_id))

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        return await self._first(queries.posted_at(tenant, ref))

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first; withdrawn ones left out."""
        return await self._oldest_first(queries.in_thread(thread, limit))

    async def answered(self, tenant: str, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a tenant that have an outcome, oldest first."""
        return await self._oldest_first(queries.answered(tenant, limit))

    async def unfinished(self) -> Sequence[Interaction]:
        async with self._transactions.reading() as connection:
            rows = await connection.execute(queries.unfinished())
            return [self._interaction(row) for row in rows]

    async def history(self, thread: Thread, before: Message, limit: int) -> tuple[Turn, ...]:
        statement = queries.history(thread, before.interaction_id, limit)
        async with self._transactions.reading() as connection:
            newest_first = (await connection.execute(statement)).all()
        return tuple(_turn(role, text) for role, text in reversed(newest_first))

    async def stage(self, interaction_id: InteractionId, stage: Stage) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(queries.held(interaction_id))
            await connection.execute(queries.append_stage(interaction_id, stage, _now()))

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Stage]:
        async with self._transactions.reading() as connection:
            rows = await connection.scalars(queries.stages(interaction_id, after))
            return [Stage(stage) for stage in rows]

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
            return [_feedback(row) for row in rows]

    async def _add_turn(self, connection: AsyncConnection, message: Message, turn: Turn) -> None:
        row = {
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "interaction_id": message.interaction_id,
            "role": turn.role,
            "text": storable(turn.text),
        }
        await connection.execute(queries.insert_once(self._transactions.dialect, TurnRow, row))

    async def _first(self, statement: Select[InteractionRow]) -> Interaction | None:
        async with self._transactions.reading() as connection:
            row = (await connection.execute(statement)).first()
        return None if row is None else self._interaction(row)

    async def _oldest_first(self, newest_first: Select[InteractionRow]) -> Sequence[Interaction]:
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(newest_first)).all()
        return [self._interaction(row) for row in reversed(rows)]

    async def _one(self, connection: AsyncConnection, interaction_id: str) -> Interaction:
        row = (await connection.execute(queries.held(interaction_id))).first()
        if row is None:
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r}. Use the id that the question's "
                "answer came with."
            )
        return self._interaction(row)

    def _interaction(self, row: Row[Any]) -> Interaction:
        posted = row.posted_id is not None and PostedRef(row.posted_channel, row.posted_id)
        return Interaction(
            id=InteractionId(row.id),
            message=self._messages.decode(row.message),
            status=row.status,
            created_at=row.created_at,
            outcome=None if row.outcome is None else self._outcomes.decode(row.outcome),
            posted=posted or None,
            finished_at=row.finished_at,
        )


def _turn(role: str, text: str) -> Turn:
    return Turn(cast("Literal['user', 'assistant']", role), text)


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


def _feedback(row: Row[Any]) -> Feedback:
    return Feedback(
        interaction_id=InteractionId(row.interaction_id),
        person_id=row.person,
        vote=row.vote,
        given_at=row.given_at,
        rating=row.rating,
        reason=row.reason,
        comment=row.comment,
    )


def _now() -> datetime:
    return datetime.now(UTC)
