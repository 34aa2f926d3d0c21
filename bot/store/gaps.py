"""Store of gaps: which questions the wiki did not answer, in which group, and its state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
    exists,
    insert,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.interactions import Interaction
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId, Message
from bot.domain.record_reports import HAND_OVER
from bot.learning.gap_record import FollowedQuestion, GroupedQuestion, VotedDown
from bot.learning.gaps import ChosenState, GapQuestion, PassageRef
from bot.store import queries
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import GapQuestionRow, GapRow
from bot.store.rows import Rows, utc_now
from bot.store.tables import FeedbackRow, InteractionRow

_NEW_GAP = {"state": "new", "state_by": "", "answered_by": "[]"}

CHUNK = 500
"""Questions per transaction, so that other writers don't wait long."""

BY_ITSELF = "frontdesk"
"""The actor of what happens to a gap by itself, in the audit log."""


class StoredGaps:
    """Stores gaps and their questions. Implements bot.learning.gap_jobs.GapRecord."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows = Rows()

    async def follow(
        self, tenant: str, after: int, waiting: Collection[int], limit: int
    ) -> Sequence[FollowedQuestion]:
        number = InteractionRow.number
        queried = [select_followed(tenant, number > after).limit(limit)]
        if waiting:
            # A query of its own: with both conditions SQLite reads all rows.
            queried.insert(0, select_followed(tenant, number.in_(sorted(waiting))))
        found = [await self._transactions.rows(each) for each in queried]
        return [
            FollowedQuestion(
                number=row.number,
                id=InteractionId(row.id),
                asked_at=row.created_at,
                finished=row.status != "working",
                candidate=_may_count(row),
            )
            for row in chain.from_iterable(found)
        ]

    async def voted_down(self, tenant: str, since: datetime, limit: int) -> Sequence[VotedDown]:
        rows = await self._transactions.rows(select_voted_down(tenant, since).limit(limit))
        return [VotedDown(InteractionId(row.interaction_id), row.given_at) for row in rows]

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        if not ids:
            return {}
        row = InteractionRow
        rows = await self._transactions.rows(
            select(row).where(row.tenant == tenant, row.id.in_(list(ids)), queries.not_withdrawn())
        )
        return {InteractionId(each.id): self._rows.interaction(each) for each in rows}

    async def asked_before(self, message: Message, text: str) -> InteractionId | None:
        found = await self._transactions.scalar(queries.select_asked_before(message, text))
        return None if found is None else InteractionId(found)

    async def with_words(self, tenant: str, question: str) -> str | None:
        row = GapQuestionRow
        return await self._transactions.scalar(
            select(row.gap)
            .where(row.tenant == tenant, row.question == storable(question), row.gap.is_not(None))
            .limit(1)
        )

    async def attach(self, question: GapQuestion, gap: str, *, opened: bool) -> bool:
        row = GapQuestionRow
        now = utc_now()
        async with self._transactions.writing() as connection:
            # Locked, so that a withdrawal comes before, or deletes what is written here.
            there = (
                select(InteractionRow.id, row.interaction_id.label("known"))
                .outerjoin(row, row.interaction_id == InteractionRow.id)
                .where(InteractionRow.id == question.id, queries.not_withdrawn())
                .with_for_update(of=InteractionRow)
            )
            found = (await connection.execute(there)).first()
            if found is None or found.known is not None:
                await self._hand_over(connection, question)
                return False
            if opened:
                new = {**_NEW_GAP, "id": gap, "tenant": question.tenant, "state_at": now}
                await connection.execute(insert(GapRow).values(**new))
            await connection.execute(insert(row).values(**_question_row(question, gap, now)))
            if not opened:
                await self._reopen(connection, question.tenant, GapRow.id == gap)
        return True

    async def without_vector(
        self, tenant: str, embedder: str, limit: int
    ) -> Sequence[tuple[InteractionId, str]]:
        row = GapQuestionRow
        rows = await self._transactions.rows(
            select(row.interaction_id, row.question)
            .where(row.tenant == tenant, row.embedder != embedder)
            .limit(limit)
        )
        return [(InteractionId(each), question) for each, question in rows]

    async def set_vectors(self, embedder: str, vectors: Mapping[InteractionId, bytes]) -> None:
        row = GapQuestionRow
        async with self._transactions.writing(lasting=False) as connection:
            for each, vector in vectors.items():
                await connection.execute(
                    update(row)
                    .where(row.interaction_id == each)
                    .values(embedder=embedder, vector=vector)
                )

    async def grouped(self, tenant: str, embedder: str, limit: int) -> Sequence[GroupedQuestion]:
        row = GapQuestionRow
        rows = await self._transactions.rows(
            select(row.interaction_id, row.gap, GapRow.state, row.vector)
            .outerjoin(GapRow, GapRow.id == row.gap)
            .where(row.tenant == tenant, row.embedder == embedder, row.vector.is_not(None))
            .where(counts())
            .order_by(row.asked_at.desc(), row.interaction_id)
            .limit(limit)
        )
        return [
            GroupedQuestion(InteractionId(row.interaction_id), row.gap, row.state or "", row.vector)
            for row in rows
        ]

    async def move(
        self, tenant: str, moves: Mapping[str, Collection[str]], opened: Collection[str]
    ) -> None:
        row, now = GapQuestionRow, utc_now()
        for some in _portions(moves):
            # Not waiting for the disk: what a loss of power undoes, the next night repeats.
            async with self._transactions.writing(lasting=False) as connection:
                new = [gap for gap in dict(some) if gap in opened]
                if new:
                    gaps = [
                        {**_NEW_GAP, "id": gap, "tenant": tenant, "state_at": now} for gap in new
                    ]
                    dialect = self._transactions.dialect
                    await connection.execute(queries.insert_once(dialect, GapRow, *gaps))
                for gap, ids in some:
                    change = update(row).where(row.tenant == tenant, row.interaction_id.in_(ids))
                    await connection.execute(change.values(gap=gap))

    async def tidy(self, tenant: str) -> None:
        """Reopen closed gaps with newer questions; delete gaps without any that nobody took."""
        filled = exists().where(GapQuestionRow.gap == GapRow.id)
        empty = GapRow.tenant == tenant, GapRow.state.in_(("new", "closed")), not_(filled)
        async with self._transactions.writing() as connection:
            await self._reopen(connection, tenant)
            await connection.execute(delete(GapRow).where(*empty))

    async def of_unknown_place(self, tenant: str, limit: int) -> Sequence[InteractionId]:
        row = GapQuestionRow
        found = await self._transactions.scalars(
            select(row.interaction_id)
            .where(row.tenant == tenant, row.public.is_(None))
            .order_by(row.asked_at.desc())
            .limit(limit)
        )
        return [InteractionId(each) for each in found]

    async def set_public(self, interaction_id: InteractionId, *, public: bool) -> None:
        row = GapQuestionRow
        await self._transactions.execute(
            update(row).where(row.interaction_id == interaction_id).values(public=public)
        )

    async def next_to_ask_again(self, tenant: str, before: datetime) -> str | None:
        row = GapRow
        open_ = row.state.in_(("new", "taken", "page_written"))
        due = or_(row.asked_again_at.is_(None), row.asked_again_at < before)
        filled = exists().where(GapQuestionRow.gap == row.id, counts())
        written_first = (row.state != "page_written", row.asked_again_at.is_not(None))
        return await self._transactions.scalar(
            select(row.id)
            .where(row.tenant == tenant, open_, due, filled)
            .order_by(*written_first, row.asked_again_at, row.id)
            .limit(1)
        )

    async def newest_questions(self, gap: str, limit: int) -> Sequence[tuple[InteractionId, str]]:
        row = GapQuestionRow
        rows = await self._transactions.rows(
            select(row.interaction_id, row.question)
            .where(row.gap == gap, counts())
            .order_by(row.asked_at.desc(), row.interaction_id)
            .limit(limit)
        )
        return [(InteractionId(each), question) for each, question in rows]

    async def asked_again(
        self,
        tenant: str,
        gap: str,
        answered: Mapping[InteractionId, bool],
        closed_by: Sequence[PassageRef] | None,
    ) -> None:
        row, now = GapQuestionRow, utc_now()
        closed = {"state": "closed", "state_by": "", "state_at": now}
        async with self._transactions.writing() as connection:
            for each, is_answered in answered.items():
                at = now if is_answered else None
                change = update(row).where(row.interaction_id == each)
                await connection.execute(change.values(answered_at=at))
            change = update(GapRow).where(GapRow.id == gap).values(asked_again_at=now)
            if closed_by is None:
                await connection.execute(change)
                return
            pages = encode_passages(closed_by)
            await connection.execute(change.values(**closed, answered_by=pages))
            await connection.execute(insert_audit(tenant, BY_ITSELF, "gap closed", gap))

    async def set_state(
        self, tenant: str, gap: str, state: ChosenState, *, actor: str, name: str
    ) -> bool:
        """Set the state that a person chose, with an audit entry; False if there is no such gap."""
        row = GapRow
        values = {"state": state, "state_by": storable(name), "state_at": utc_now()}
        async with self._transactions.writing() as connection:
            change = update(row).where(row.tenant == tenant, row.id == storable(gap))
            changed = await connection.execute(change.values(**values, answered_by="[]"))
            if changed.rowcount:
                await connection.execute(insert_audit(tenant, actor, f"gap {state}", gap))
        return bool(changed.rowcount)

    async def _hand_over(self, connection: AsyncConnection, question: GapQuestion) -> None:
        """Record that a person was asked about a question that is one of a gap already."""
        row = GapQuestionRow
        change = update(row).where(row.interaction_id == question.id)
        if question.cause == "handed_over":
            await connection.execute(change.values(cause=question.cause))
        if question.request:
            await connection.execute(change.values(request=question.request))

    async def _reopen(
        self, connection: AsyncConnection, tenant: str, *which: ColumnElement[bool]
    ) -> None:
        """Reopen closed gaps with a question that was added since."""
        row = GapQuestionRow
        newer = exists().where(row.gap == GapRow.id, row.added_at > GapRow.state_at)
        reopened = await connection.scalars(
            update(GapRow)
            .where(GapRow.tenant == tenant, GapRow.state == "closed", newer, *which)
            .values(state="new", state_by="", state_at=utc_now(), answered_by="[]")
            .returning(GapRow.id)
        )
        for gap in reopened.all():
            await connection.execute(insert_audit(tenant, BY_ITSELF, "gap reopened", gap))


def select_followed(tenant: str, *which: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Return the query for interactions by number, in order."""
    row = InteractionRow
    return (
        select(
            row.number, row.id, row.created_at, row.status, row.answer_type, row.confidence_level
        )
        .where(queries.is_of_tenant(row.tenant.expression, tenant), *which)
        .order_by(row.number)
    )


def _may_count(row: Any) -> bool:  # noqa: ANN401 - a row of select_followed
    """Return whether a question may be one of a gap, or a request for a person about one."""
    handed_over = row.answer_type in {"ESCALATION_REQUIRED", HAND_OVER}
    unsure = row.confidence_level == "unsure"
    return row.status not in queries.WITHDRAWN and (handed_over or unsure)


def select_voted_down(tenant: str, since: datetime) -> Select[str, datetime]:
    """Return the query for thumbs down since a time on questions that are in no gap, in order."""
    row = FeedbackRow
    known = exists().where(GapQuestionRow.interaction_id == row.interaction_id)
    return (
        select(row.interaction_id, row.given_at)
        .where(row.tenant == tenant, row.given_at >= since, row.vote == "down", not_(known))
        .order_by(row.given_at, row.interaction_id)
    )


def counts() -> ColumnElement[bool]:
    """Return the condition that a gap's question counts, with the thumbs that it has now."""
    row = GapQuestionRow
    given = FeedbackRow.interaction_id == row.interaction_id
    up, down = (exists().where(given, FeedbackRow.vote == vote) for vote in ("up", "down"))
    guessed = and_(row.cause == "unsure", not_(up))
    return or_(row.cause == "handed_over", guessed, down)


def encode_passages(passages: Sequence[PassageRef]) -> str:
    """Return passages as they are stored."""
    return json.dumps([[each.chunk_id, each.page_id] for each in passages])


def decode_passages(text: str) -> tuple[PassageRef, ...]:
    """Return stored passages."""
    return tuple(PassageRef(chunk_id, page_id) for chunk_id, page_id in json.loads(text))


def _question_row(question: GapQuestion, gap: str, now: datetime) -> dict[str, object]:
    return {
        "interaction_id": question.id,
        "tenant": question.tenant,
        "gap": gap,
        "cause": question.cause,
        "asked_at": question.asked_at,
        "added_at": now,
        "person": storable(question.person),
        "question": storable(question.question),
        "request": question.request,
        "public": question.public,
        "embedder": question.embedder,
        "vector": question.vector or None,
        "passages": encode_passages(question.passages),
    }


def _portions(
    moves: Mapping[str, Collection[str]],
) -> Iterator[Sequence[tuple[str, Sequence[str]]]]:
    """Split moves into those of one transaction each."""
    pieces = (
        (gap, list(ids)[begin : begin + CHUNK])
        for gap, ids in moves.items()
        for begin in range(0, len(ids), CHUNK)
    )
    held: list[tuple[str, Sequence[str]]] = []
    for piece in pieces:
        held.append(piece)
        if sum(len(ids) for _, ids in held) >= CHUNK:
            yield held
            held = []
    yield held
