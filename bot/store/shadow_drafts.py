"""Store drafts of channels in shadow mode: which are to be sent, and what reviewers said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, and_, func, or_, select, update

from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.learning.shadow_mode import DraftCounts, ShadowDraft, Verdict
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import ShadowDraftRow
from bot.store.rows import utc_now


class StoredShadowDrafts:
    """Stores drafts. Implements bot.learning.shadow_mode.ShadowDrafts.

    They are written by StoredWork, in the transaction of their outcome.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def due(self, tenant: str, now: datetime, limit: int) -> Sequence[ShadowDraft]:
        row = ShadowDraftRow
        rows = await self._transactions.rows(
            select(row)
            .where(row.tenant == tenant, or_(row.due_at <= now, _is_new()))
            .order_by(row.due_at, row.interaction_id)
            .limit(limit)
        )
        return [_draft_of(each) for each in rows]

    async def settle(self, draft: ShadowDraft, failure: str = "") -> None:
        await self._update(draft.interaction_id, due_at=None, failure=storable(failure))

    async def later(self, draft: ShadowDraft, at: datetime, failure: str) -> None:
        await self._update(
            draft.interaction_id,
            due_at=at,
            attempts=draft.attempts + 1,
            failure=storable(failure),
        )

    async def get(self, tenant: str, interaction_id: InteractionId) -> ShadowDraft | None:
        row = ShadowDraftRow
        found = await self._transactions.first(
            select(row).where(
                row.tenant == tenant,
                row.interaction_id == storable(interaction_id),
                row.drafted.is_(True),
            )
        )
        return None if found is None else _draft_of(found)

    async def judge(
        self, tenant: str, interaction_id: InteractionId, verdict: Verdict, reviewer: str
    ) -> bool:
        row, key = ShadowDraftRow, storable(interaction_id)
        mine = row.reviewer.in_(["", storable(reviewer)])
        judged = update(row).where(row.tenant == tenant, row.interaction_id == key, mine)
        values = {"verdict": verdict, "reviewer": storable(reviewer), "reviewed_at": utc_now()}
        async with self._transactions.writing() as connection:
            if not (await connection.execute(judged.values(**values))).rowcount:
                return False
            await connection.execute(insert_audit(tenant, reviewer, f"shadow.{verdict}", key))
            return True

    async def counts(self, tenant: str, channel: str) -> Mapping[str, DraftCounts]:
        row = ShadowDraftRow
        rows = await self._transactions.rows(
            select(
                row.space,
                func.count(),
                func.count().filter(row.drafted.is_(True)),
                func.count().filter(row.verdict == "agree"),
                func.count().filter(row.verdict == "disagree"),
            )
            .where(row.tenant == tenant, row.channel == storable(channel))
            .group_by(row.space)
            .order_by(row.space)
        )
        return {space: DraftCounts(*counted) for space, *counted in rows}

    async def _update(self, interaction_id: InteractionId, **values: object) -> None:
        row = ShadowDraftRow
        await self._transactions.execute(
            update(row).where(row.interaction_id == interaction_id).values(**values)
        )


def _is_new() -> ColumnElement[bool]:
    """Return the condition of a new draft: due at once, even if its writer's clock is ahead."""
    return and_(ShadowDraftRow.due_at.is_not(None), ShadowDraftRow.attempts == 0)


def _draft_of(row: Row[ShadowDraftRow]) -> ShadowDraft:
    return ShadowDraft(
        interaction_id=InteractionId(row.interaction_id),
        channel=row.channel,
        at=row.at,
        attempts=row.attempts,
        verdict=row.verdict,
        reviewer=row.reviewer,
    )
