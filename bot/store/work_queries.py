"""SQL statements of the work on a message: open, claim, finish, post, withdraw.

For SQLite and PostgreSQL alike; what every question executes is built once in a process
(``bot.store.queries.Prepared``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from sqlalchemy import Insert, Select, Update, bindparam, case, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.interactions import PostedRef
from bot.domain.json_codec import storable
from bot.store.queries import Prepared, insert_new
from bot.store.tables import ConversationRow, InteractionRow, ProgressRow


@cache
def insert_opened(dialect: str) -> Insert:
    """Return the statement that inserts a new interaction's row and returns it."""
    return insert_new(dialect, InteractionRow).returning(InteractionRow)


@cache
def upsert_conversation(dialect: str) -> Insert:
    """Return the statement that inserts a conversation's row, or moves its last message."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    new = make(ConversationRow)
    return new.on_conflict_do_update(
        index_elements=("tenant", "thread"), set_={"last_at": new.excluded.last_at}
    )


def select_claim_for_update(
    interaction_id: str,
) -> Prepared[Select[str, int, str | None, int]]:
    """Return the query that locks an interaction, for its status, revision, owner and epoch."""
    return _select_claim(), {"interaction": interaction_id}


@cache
def _select_claim() -> Select[str, int, str | None, int]:
    row = InteractionRow
    claim = select(row.status, row.revision, row.owner, row.epoch)
    return claim.where(row.id == bindparam("interaction")).with_for_update()


def _update(interaction_id: str) -> Update:
    return update(InteractionRow).where(InteractionRow.id == interaction_id)


def finish(interaction_id: str, at: datetime, outcome: Mapping[str, object]) -> Prepared[Update]:
    """Return the statement that stores an outcome's columns, unless one is stored already."""
    return _finish(), {
        "interaction": interaction_id,
        "status": "done",
        "finished_at": at,
        **outcome,
    }


@cache
def _finish() -> Update:
    return update(InteractionRow).where(
        InteractionRow.id == bindparam("interaction"), InteractionRow.status == "working"
    )


def give_up(interaction_id: str, why: str) -> Update:
    """Return the statement that ends an interaction whose reply can't be posted or withdrawn."""
    ended = case((InteractionRow.status == "cancelling", "cancelled"), else_="failed")
    return (
        _update(interaction_id)
        .where(InteractionRow.status.in_(("done", "cancelling")))
        .values(status=ended, failure=why)
    )


def withdraw_interaction(interaction_id: str, message: str, at: datetime) -> Update:
    """Return the statement that blanks an interaction's texts and ends its claim.

    Applies in any state. Its posts are still to be removed (status "cancelling").
    """
    return _update(interaction_id).values(
        status="cancelling",
        message=message,
        outcome=None,
        intent="",
        answer_type="",
        confidence=None,
        confidence_level="",
        finished_at=at,
        owner=None,
        epoch=InteractionRow.epoch + 1,
    )


def finish_withdrawal(interaction_id: str, message: str) -> Update:
    """Return the statement that ends a withdrawal (status "cancelled")."""
    return (
        _update(interaction_id)
        .where(InteractionRow.status == "cancelling")
        .values(status="cancelled", message=message)
    )


def replace_message(interaction_id: str, message: str) -> Update:
    """Return the statement that stores an edited message while it has no outcome."""
    return (
        _update(interaction_id)
        .where(InteractionRow.status == "working")
        .values(message=message, revision=InteractionRow.revision + 1)
    )


def keep_message(interaction_id: str, message: str) -> Update:
    """Return the statement that stores the answered message over an edit that came too late."""
    return _update(interaction_id).values(message=message)


def begin_posting(interaction_id: str) -> Update:
    """Return the statement that marks the reply as being posted."""
    return _update(interaction_id).values(posting=True)


def count_attempt(interaction_id: str) -> Update:
    """Return the statement that counts a failed post."""
    return _update(interaction_id).values(attempts=InteractionRow.attempts + 1, posting=False)


def mark_posted(interaction_id: str, ref: PostedRef) -> Prepared[Update]:
    """Return the statement that stores where the reply was posted, replacing any earlier place.

    It returns the interaction's row.
    """
    return _mark_posted(), {
        "interaction": interaction_id,
        "posted_channel": storable(ref.channel),
        "posted_id": storable(ref.id),
        "posting": False,
    }


@cache
def _mark_posted() -> Update:
    marked = update(InteractionRow).where(InteractionRow.id == bindparam("interaction"))
    return marked.returning(InteractionRow)


def mark_placeholder(interaction_id: str, ref: PostedRef | None) -> Update:
    """Return the statement that stores where the placeholder is; None for no placeholder."""
    channel, place = (storable(ref.channel), storable(ref.id)) if ref else (None, None)
    return _update(interaction_id).values(placeholder_channel=channel, placeholder_id=place)


@cache
def append_stage() -> Insert:
    """Return the statement that inserts a progress row after the last one of its interaction.

    The row needs no ``sequence``; ``of`` is the interaction's id once more. The interaction must be
    locked, or two writers would use the same number.
    """
    last = select(func.coalesce(func.max(ProgressRow.sequence), 0) + 1).where(
        ProgressRow.interaction_id == bindparam("of")
    )
    return insert(ProgressRow).inline().values(sequence=last.scalar_subquery())
