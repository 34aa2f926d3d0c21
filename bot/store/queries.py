"""The statements of the record, each valid on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Delete, Insert, Select, Update, delete, func, insert, literal, or_, select
from sqlalchemy import update as update_of
from sqlalchemy.dialects import postgresql, sqlite

from bot.store.tables import FeedbackRow, InteractionRow, ProgressRow, Table, TurnRow
from bot.types import PostedRef, Stage, Thread

NOTHING_BEFORE = 2**62
"""Above every number: a message that is not recorded comes after all that are."""


def insert_once(dialect: str, table: type[Table], values: Mapping[str, object]) -> Insert:
    """Insert a row unless its key is there already."""
    if dialect == "postgresql":
        return postgresql.insert(table).values(**values).on_conflict_do_nothing()
    return sqlite.insert(table).values(**values).on_conflict_do_nothing()


def interaction(interaction_id: str) -> Select[InteractionRow]:
    """One interaction by its id."""
    return select(InteractionRow).where(InteractionRow.id == interaction_id)


def held(interaction_id: str) -> Select[InteractionRow]:
    """One interaction, kept from other writers until the transaction ends."""
    return interaction(interaction_id).with_for_update()


def posted_at(tenant: str, ref: PostedRef) -> Select[InteractionRow]:
    """The latest interaction whose reply is there."""
    return (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.posted_channel == ref.channel,
            InteractionRow.posted_id == ref.id,
        )
        .order_by(InteractionRow.number.desc())
        .limit(1)
    )


def in_thread(thread: Thread, limit: int) -> Select[InteractionRow]:
    """The last interactions of a thread, newest first; withdrawn ones are left out."""
    return (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            InteractionRow.status != "cancelled",
        )
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def answered(tenant: str, limit: int) -> Select[InteractionRow]:
    """The last interactions of a tenant with an outcome, newest first."""
    return (
        select(InteractionRow)
        .where(InteractionRow.tenant == tenant, InteractionRow.outcome.is_not(None))
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def unfinished() -> Select[InteractionRow]:
    """Work of all tenants: it is resumed by the process, shown to nobody."""
    answered = InteractionRow.status == "done"
    return (
        select(InteractionRow)
        .where(
            or_(
                InteractionRow.status == "working",
                answered & InteractionRow.posted_id.is_(None),
            )
        )
        .order_by(InteractionRow.number)
    )


def finish(interaction_id: str, status: str, at: datetime, outcome: str | None = None) -> Update:
    """End the work on a message; one that has ended stays as it is."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id, InteractionRow.status == "working")
        .values(status=status, finished_at=at, outcome=outcome)
    )


def forget(interaction_id: str, message: str, at: datetime) -> Update:
    """Cancel an interaction and blank its texts, whatever its state."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(status="cancelled", message=message, outcome=None, finished_at=at)
    )


def replace_message(interaction_id: str, message: str) -> Update:
    """Put an edited message in place of the first, while nothing is answered."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id, InteractionRow.status == "working")
        .values(message=message)
    )


def mark_posted(interaction_id: str, ref: PostedRef) -> Update:
    """Note where the reply became visible; the last place counts."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(posted_channel=ref.channel, posted_id=ref.id)
    )


def history(thread: Thread, before: str, limit: int) -> Select[str, str]:
    """The last turns of a thread, newest first, of what arrived before a message."""
    own = select(InteractionRow.number).where(InteractionRow.id == before).scalar_subquery()
    return (
        select(TurnRow.role, TurnRow.text)
        .join(InteractionRow, InteractionRow.id == TurnRow.interaction_id)
        .where(
            TurnRow.tenant == thread.tenant,
            TurnRow.thread == thread.key,
            InteractionRow.number < func.coalesce(own, NOTHING_BEFORE),
        )
        .order_by(TurnRow.number.desc())
        .limit(limit)
    )


def append_stage(interaction_id: str, stage: Stage, at: datetime) -> Insert:
    """Add the next progress row; nothing happens for an interaction that is not recorded.

    The interaction must be held, or two writers would take the same number.
    """
    last = (
        select(func.max(ProgressRow.sequence))
        .where(ProgressRow.interaction_id == interaction_id)
        .scalar_subquery()
    )
    row = select(
        InteractionRow.id,
        func.coalesce(last, 0) + 1,
        InteractionRow.tenant,
        literal(stage.value),
        literal(at, ProgressRow.at.type),
    ).where(InteractionRow.id == interaction_id)
    return insert(ProgressRow).from_select(
        ["interaction_id", "sequence", "tenant", "stage", "at"], row
    )


def stages(interaction_id: str, after: int) -> Select[str]:
    """The progress rows after a sequence number."""
    return (
        select(ProgressRow.stage)
        .where(ProgressRow.interaction_id == interaction_id, ProgressRow.sequence > after)
        .order_by(ProgressRow.sequence)
    )


def rate(dialect: str, tenant: str, feedback: Mapping[str, object]) -> Insert:
    """Keep a judgement in place of the person's earlier one."""
    values = {**feedback, "tenant": tenant}
    changed = {k: v for k, v in values.items() if k not in {"interaction_id", "person"}}
    key = [FeedbackRow.interaction_id, FeedbackRow.person]
    if dialect == "postgresql":
        statement = postgresql.insert(FeedbackRow).values(**values)
        return statement.on_conflict_do_update(index_elements=key, set_=changed)
    return (
        sqlite.insert(FeedbackRow)
        .values(**values)
        .on_conflict_do_update(index_elements=key, set_=changed)
    )


def unrate(interaction_id: str, person: str) -> Delete:
    """Remove one person's judgement."""
    return delete(FeedbackRow).where(
        FeedbackRow.interaction_id == interaction_id, FeedbackRow.person == person
    )


def feedback(interaction_id: str) -> Select[FeedbackRow]:
    """All judgements of one answer, oldest first."""
    return (
        select(FeedbackRow)
        .where(FeedbackRow.interaction_id == interaction_id)
        .order_by(FeedbackRow.given_at, FeedbackRow.person)
    )


def forget_rows(interaction_id: str) -> tuple[Delete, ...]:
    """What else holds words of a cancelled question or of its answer."""
    return (
        delete(TurnRow).where(TurnRow.interaction_id == interaction_id),
        delete(FeedbackRow).where(FeedbackRow.interaction_id == interaction_id),
    )
