"""Store answers by people: reviewed and standard ones, and what is said against them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Row, and_, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import InteractionUnknown
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.domain.texts import tr
from bot.learning.reviewed_answers import (
    AnswerKind,
    AnswerState,
    AnswerText,
    Complaint,
    ReviewedAnswer,
    document_name,
)
from bot.store import queries
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import GapQuestionRow, ReviewedAnswerRow
from bot.store.tables import EscalationStepRow, FeedbackRow, InteractionRow
from rag.types import Principal, decode_readers, encode_readers


class StoredAnswers:
    """Stores answers. Implements bot.learning.reviewed_answers.ReviewedAnswers."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, tenant: str, answer: ReviewedAnswer) -> ReviewedAnswer:
        dialect, values = self._transactions.dialect, _values(tenant, answer)
        actor, subject = answer.changed_by, answer.case or answer.id
        async with self._transactions.writing() as connection:
            if answer.case is not None and not await _is_there(connection, answer.case):
                raise InteractionUnknown(
                    tr("The question was withdrawn, so nothing of it is kept.")
                )
            insert = queries.insert_once(dialect, ReviewedAnswerRow, values)
            if (await connection.execute(insert)).rowcount == 1:
                await connection.execute(insert_audit(tenant, actor, "answer.draft", subject))
                return answer
        kept = None if answer.case is None else await self.of_case(tenant, answer.case)
        return kept or answer

    async def get(self, tenant: str, answer_id: str) -> ReviewedAnswer | None:
        return await self._first(_is(tenant, answer_id))

    async def of_case(self, tenant: str, case: InteractionId) -> ReviewedAnswer | None:
        row = ReviewedAnswerRow
        return await self._first(and_(row.tenant == tenant, row.case == storable(case)))

    async def find(
        self, tenant: str, states: Collection[AnswerState], *, limit: int, offset: int = 0
    ) -> Sequence[ReviewedAnswer]:
        row = ReviewedAnswerRow
        statement = (
            select(row)
            .where(row.tenant == tenant, row.state.in_(sorted(states)))
            .order_by(row.changed_at.desc(), row.id)
            .limit(limit)
            .offset(offset)
        )
        return [_answer_of(each) for each in await self._transactions.rows(statement)]

    async def change(self, tenant: str, answer: ReviewedAnswer, *, act: str, detail: str) -> bool:
        values = _values(tenant, answer)
        for name in ("id", "tenant", "kind", "case", "created_at", "owner", "owner_name"):
            del values[name]
        changed = (
            update(ReviewedAnswerRow)
            .where(_is(tenant, answer.id), ReviewedAnswerRow.version == answer.version - 1)
            .values(**values)
        )
        audit = insert_audit(
            tenant, answer.changed_by, f"answer.{act}", answer.id, detail=storable(detail)
        )
        async with self._transactions.writing() as connection:
            if (await connection.execute(changed)).rowcount != 1:
                return False
            await connection.execute(audit)
        return True

    async def complain(self, tenant: str, answer: ReviewedAnswer, complaint: Complaint) -> bool:
        noted = replace(answer, complaints=(*answer.complaints, complaint))
        statement = (
            update(ReviewedAnswerRow)
            .where(_is(tenant, answer.id), ReviewedAnswerRow.version == answer.version)
            .values(complaints=_values(tenant, noted)["complaints"])
        )
        return await self._transactions.execute(statement) == 1

    async def complained(
        self, tenant: str, since: datetime, limit: int
    ) -> Sequence[tuple[Complaint, datetime]]:
        row = FeedbackRow
        statement = (
            select(row.interaction_id, row.person, row.given_at)
            .where(row.tenant == tenant, row.vote == "down", row.given_at >= since)
            .order_by(row.given_at, row.interaction_id, row.person)
            .limit(limit)
        )
        return [
            (Complaint(InteractionId(each.interaction_id), each.person), each.given_at)
            for each in await self._transactions.rows(statement)
        ]

    async def experts(self, tenant: str) -> frozenset[str]:
        row = EscalationStepRow
        statement = select(row.actor).where(row.tenant == tenant, row.actor_role == "expert")
        return frozenset(await self._transactions.scalars(statement.distinct()))

    async def askers(self, tenant: str, question: str) -> int:
        row = GapQuestionRow
        counted = select(func.count(row.person.distinct())).where(
            row.tenant == tenant, row.question == storable(question), row.person != ""
        )
        return await self._transactions.scalar(counted) or 0

    async def _first(self, condition: ColumnElement[bool]) -> ReviewedAnswer | None:
        row = await self._transactions.first(select(ReviewedAnswerRow).where(condition))
        return None if row is None else _answer_of(row)


def _is(tenant: str, answer_id: str) -> ColumnElement[bool]:
    row = ReviewedAnswerRow
    return and_(row.tenant == tenant, row.id == storable(answer_id))


def _values(tenant: str, answer: ReviewedAnswer) -> dict[str, object]:
    written = answer.content
    said = [[each.interaction_id, each.person] for each in answer.complaints]
    return {
        "id": answer.id,
        "tenant": tenant,
        "kind": answer.kind,
        "state": answer.state,
        "question": storable(written.question),
        "variants": storable(json.dumps(written.variants)),
        "text": storable(written.text),
        "chosen": storable(json.dumps(sorted(written.chosen))),
        "readers": storable(encode_readers(answer.readers)),
        "spaces": None if written.spaces is None else storable(json.dumps(sorted(written.spaces))),
        "owner": storable(answer.owner),
        "owner_name": storable(answer.owner_name),
        "case": answer.case,
        "valid_from": written.valid_from,
        "valid_until": written.valid_until,
        "created_at": answer.created_at,
        "changed_at": answer.changed_at,
        "changed_by": storable(answer.changed_by),
        "written_by": storable(answer.written_by),
        "version": answer.version,
        "live_at": answer.live_at,
        "complaints": storable(json.dumps(said)),
        "document": document_name(answer.id) if answer.live_at else "",
        "url": storable(answer.url),
    }


def _answer_of(row: Row[ReviewedAnswerRow]) -> ReviewedAnswer:
    kind, state = row.kind, row.state
    return ReviewedAnswer(
        id=row.id,
        kind=cast("AnswerKind", kind),
        state=cast("AnswerState", state),
        content=AnswerText(
            question=row.question,
            text=row.text,
            variants=tuple(json.loads(row.variants)),
            chosen=frozenset(map(Principal, json.loads(row.chosen))),
            spaces=None if row.spaces is None else frozenset(json.loads(row.spaces)),
            valid_from=row.valid_from,
            valid_until=row.valid_until,
        ),
        readers=decode_readers(row.readers),
        owner=row.owner,
        owner_name=row.owner_name,
        created_at=row.created_at,
        changed_at=row.changed_at,
        changed_by=row.changed_by,
        written_by=row.written_by,
        case=None if row.case is None else InteractionId(row.case),
        version=row.version,
        live_at=row.live_at,
        complaints=tuple(Complaint(InteractionId(a), b) for a, b in json.loads(row.complaints)),
        url=row.url,
    )


async def _is_there(connection: AsyncConnection, case: InteractionId) -> bool:
    """Return whether a question is not withdrawn, and keep it so until the transaction ends."""
    question = (
        select(InteractionRow.id)
        .where(InteractionRow.id == storable(case), queries.not_withdrawn())
        .with_for_update()
    )
    return await connection.scalar(question) is not None
