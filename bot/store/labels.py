"""Store labels of answers, what proposes them, and certificates that are suspended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Row, Select, and_, delete, literal, select, union_all, update

from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.learning.certificate_watch import Suspension
from bot.learning.labels import (
    Label,
    LabelKey,
    LabelOrigin,
    LabelState,
    Proposal,
    Truth,
)
from bot.store.connections import Transactions
from bot.store.learning_tables import (
    GateSuspensionRow,
    LabelRow,
    ReviewedAnswerRow,
    ShadowDraftRow,
)
from bot.store.queries import insert_once, upsert
from bot.store.tables import EscalationStepRow, FeedbackRow, InteractionRow

_CHANGEABLE = ("truth", "pages", "public", "created_at")
_ANSWERED = ("sure", "partial")


class StoredLabels:
    """Stores labels. Implements bot.learning.labels.Labels."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def proposals(
        self, tenant: str, after: datetime, until: datetime, limit: int
    ) -> Sequence[Proposal]:
        found = _select_proposals(tenant, after, until).limit(limit)
        return [
            Proposal(
                LabelKey(InteractionId(row.interaction_id), cast("LabelOrigin", row.origin)),
                _truth(row.origin, row.verdict),
                row.at,
                (row.page,) if row.page else (),
            )
            for row in await self._transactions.rows(found)
        ]

    async def sampled(
        self, tenant: str, since: datetime, until: datetime, count: int
    ) -> Sequence[InteractionId]:
        row = InteractionRow
        # Ids are hashes of message keys, so their order has nothing to do with what was asked.
        statement = (
            select(row.id)
            .where(row.tenant == tenant, row.created_at >= since, row.created_at < until)
            .where(row.answer_type == "RAG", row.confidence_level.in_(_ANSWERED))
            .order_by(row.id)
            .limit(count)
        )
        return [InteractionId(each) for each in await self._transactions.scalars(statement)]

    async def propose(self, tenant: str, found: Sequence[Label]) -> None:
        async with self._transactions.writing() as connection:
            for label in found:
                values = _values(tenant, label)
                await connection.execute(insert_once(self._transactions.dialect, LabelRow, values))
                again = {name: values[name] for name in _CHANGEABLE}
                await connection.execute(
                    update(LabelRow)
                    .where(_is(tenant, label.key), LabelRow.state == "candidate")
                    .values(**again)
                )

    async def find(
        self, tenant: str, state: LabelState, *, limit: int, before: datetime | None = None
    ) -> Sequence[Label]:
        statement = (
            select(LabelRow)
            .where(LabelRow.tenant == tenant, LabelRow.state == state)
            .order_by(LabelRow.created_at.desc(), LabelRow.interaction_id)
            .limit(limit)
        )
        if before is not None:
            statement = statement.where(LabelRow.created_at < before)
        return [_label_of(row) for row in await self._transactions.rows(statement)]

    async def get(self, tenant: str, key: LabelKey) -> Label | None:
        row = await self._transactions.first(select(LabelRow).where(_is(tenant, key)))
        return None if row is None else _label_of(row)

    async def decide(self, tenant: str, label: Label) -> bool:
        values = _values(tenant, label)
        for name in ("interaction_id", "origin", "tenant", "created_at", "public"):
            del values[name]
        decided = (
            update(LabelRow)
            .where(_is(tenant, label.key), LabelRow.state == "candidate")
            .values(**values)
        )
        return await self._transactions.execute(decided) == 1

    async def accepted(
        self, tenant: str, since: datetime | None = None, until: datetime | None = None
    ) -> Sequence[Label]:
        statement = select(LabelRow).where(LabelRow.tenant == tenant, LabelRow.state == "accepted")
        if since is not None:
            statement = statement.where(LabelRow.decided_at >= since)
        if until is not None:
            statement = statement.where(LabelRow.decided_at < until)
        statement = statement.order_by(LabelRow.decided_at, LabelRow.interaction_id)
        return [_label_of(row) for row in await self._transactions.rows(statement)]


class StoredSuspensions:
    """Stores suspended certificates. Implements bot.learning.certificate_watch.Suspensions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def current(self, tenant: str) -> Mapping[str, Suspension]:
        row = GateSuspensionRow
        rows = await self._transactions.rows(select(row).where(row.tenant == tenant))
        return {
            each.calibration: Suspension(
                each.calibration, each.certificate, each.since, each.reason
            )
            for each in rows
        }

    async def suspend(self, tenant: str, suspension: Suspension) -> None:
        values = {
            "tenant": tenant,
            "calibration": suspension.calibration,
            "certificate": suspension.certificate,
            "since": suspension.since,
            "reason": storable(suspension.reason),
        }
        dialect = self._transactions.dialect
        await self._transactions.execute(
            upsert(dialect, GateSuspensionRow, values, key=("tenant", "calibration"))
        )

    async def end(self, tenant: str, calibration: str) -> bool:
        row = GateSuspensionRow
        ended = delete(row).where(row.tenant == tenant, row.calibration == storable(calibration))
        return await self._transactions.execute(ended) == 1


def _select_proposals(
    tenant: str, after: datetime, until: datetime
) -> Select[str, str, str, str, datetime]:
    """Return the query for what happened between two times that says something of an answer."""
    vote, step, draft, kept = FeedbackRow, EscalationStepRow, ShadowDraftRow, ReviewedAnswerRow
    none = literal("")
    every = union_all(
        select(
            vote.interaction_id.label("interaction_id"),
            literal("thumb").label("origin"),
            vote.vote.label("verdict"),
            none.label("page"),
            vote.given_at.label("at"),
        ).where(vote.tenant == tenant),
        select(step.interaction_id, literal("reopened"), step.step, none, step.at).where(
            step.tenant == tenant, step.step == "reopen"
        ),
        select(
            draft.interaction_id, literal("shadow"), draft.verdict, none, draft.reviewed_at
        ).where(draft.tenant == tenant, draft.verdict != ""),
        select(kept.case, literal("reviewed"), kept.state, kept.document, kept.changed_at).where(
            kept.tenant == tenant, kept.state == "live", kept.case.is_not(None)
        ),
    ).subquery()
    found = every.c
    return (
        select(found.interaction_id, found.origin, found.verdict, found.page, found.at)
        .where(found.at >= after, found.at <= until)
        .order_by(found.at, found.interaction_id, found.origin)
    )


def _truth(origin: str, verdict: str) -> Truth:
    """Return what an act says at first sight; a person decides."""
    if origin == "reopened":
        return "unanswerable"
    return "right" if verdict in {"up", "agree"} else "wrong"


def _is(tenant: str, key: LabelKey) -> ColumnElement[bool]:
    return and_(
        LabelRow.tenant == tenant,
        LabelRow.interaction_id == storable(key.interaction_id),
        LabelRow.origin == storable(key.origin),
    )


def _values(tenant: str, label: Label) -> dict[str, object]:
    return {
        "interaction_id": label.key.interaction_id,
        "origin": label.key.origin,
        "tenant": tenant,
        "truth": label.truth,
        "state": label.state,
        "question": storable(label.question),
        "pages": storable(json.dumps(label.pages)),
        "groups": storable(json.dumps(label.groups)),
        "public": label.public,
        "created_at": label.created_at,
        "decided_by": storable(label.decided_by),
        "decided_at": label.decided_at,
    }


def _label_of(row: Row[LabelRow]) -> Label:
    origin, state, truth = row.origin, row.state, row.truth
    return Label(
        key=LabelKey(InteractionId(row.interaction_id), cast("LabelOrigin", origin)),
        truth=cast("Truth", truth),
        state=cast("LabelState", state),
        created_at=row.created_at,
        pages=tuple(json.loads(row.pages)),
        question=row.question,
        groups=tuple(json.loads(row.groups)),
        public=row.public,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
    )
