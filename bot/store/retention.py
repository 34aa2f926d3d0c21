"""Delete data older than the retention period, in small transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Select,
    Update,
    and_,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from bot.answering.answer_cache import LONGEST_HOURS
from bot.domain.ports import SEEN_COMMANDS
from bot.domain.record_reports import RetentionResult
from bot.escalations.lifecycle import SETTLED
from bot.store.connections import Transactions
from bot.store.learning_tables import ReviewedAnswerRow
from bot.store.leases import UNFINISHED
from bot.store.queries import refused_without_text
from bot.store.saved_answers import drop_older_answers
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    InteractionRow,
    NoteRow,
    UsageRow,
)

CHUNK = 500
"""Rows per transaction, so that other writers don't wait long."""

REFUSED_KEPT = timedelta(days=1)
"""How long refused questions are kept; their text is not stored at all."""

PAUSE_SECONDS = 0.02
"""Pause between two transactions, so that writers of other processes get their turn."""


Key = tuple[Any, ...]
"""A row's primary key."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A kind of cleanup: the query for keys after a key, and the change applied to them."""

    find: Callable[[datetime, Key | None], Select[*tuple[Any, ...]]]
    change: Callable[[datetime, Sequence[Key]], Delete | Update]


class StoredRetention:
    """Deletes expired data; unfinished work and unsettled escalations are kept.

    Rows are found without a lock, and their conditions are checked again when they are deleted,
    so that any number of processes may sweep at the same time.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def sweep(self, now: datetime, days: int) -> RetentionResult:
        """Delete what ended more than ``days`` before ``now``; 0 days keeps everything.

        Messages refused by a limit, and notes of commands seen in messages, are deleted after
        REFUSED_KEPT in any case; no answer is saved for others longer than LONGEST_HOURS. Usage and
        audit rows stay; old usage rows lose person and channel. Raises ValueError if ``now`` is
        naive.
        """
        if now.tzinfo is None:
            raise ValueError(f"{now!r} has no zone. Give one, such as datetime.UTC.")
        await self._transactions.execute(drop_older_answers(now - timedelta(hours=LONGEST_HOURS)))
        await self._transactions.execute(drop_seen_commands(now - REFUSED_KEPT))
        refusals = Deletion(select_old_refusals, delete_interactions)
        refused = await self._in_chunks(refusals, now - REFUSED_KEPT)
        if days == 0:
            return RetentionResult(refused=refused)
        before = now - timedelta(days=days)
        interactions = Deletion(select_old_interactions, delete_interactions)
        conversations = Deletion(select_empty_conversations, delete_conversations)
        usage = Deletion(select_named_usage, anonymize_usage)
        deleted = await self._in_chunks(interactions, before)
        await self._in_chunks(Deletion(select_left_drafts, delete_drafts), before)
        return RetentionResult(
            refused=refused,
            interactions=deleted,
            conversations=await self._in_chunks(conversations, before),
            usage=await self._in_chunks(usage, before),
        )

    async def _in_chunks(self, chunks: Deletion, before: datetime) -> int:
        changed = 0
        last: Key | None = None
        while True:
            found = await self._transactions.rows(chunks.find(before, last).limit(CHUNK))
            keys: list[Key] = [tuple(row) for row in found]
            if keys:
                changed += await self._transactions.execute(chunks.change(before, keys))
            if len(keys) < CHUNK:
                return changed
            last = keys[-1]
            await asyncio.sleep(PAUSE_SECONDS)


def select_old_interactions(before: datetime, last: Key | None) -> Select[int]:
    """Return the query for the numbers of deletable interactions after ``last``, in order."""
    number = InteractionRow.number
    statement = select(number).where(_may_be_deleted(before)).order_by(number)
    return statement if last is None else statement.where(number > last[0])


def drop_seen_commands(before: datetime) -> Delete:
    """Return the statement that deletes the notes of commands seen in messages before a time."""
    return delete(NoteRow).where(
        NoteRow.key.startswith(SEEN_COMMANDS, autoescape=True), NoteRow.at < before
    )


def select_old_refusals(before: datetime, last: Key | None) -> Select[int]:
    """Return the query for deletable interactions that were refused and stored without text."""
    return select_old_interactions(before, last).where(refused_without_text())


def delete_interactions(before: datetime, keys: Sequence[Key]) -> Delete:
    """Return the statement that deletes interactions and their dependent rows (by cascade).

    Locked interactions are skipped.
    """
    free = (
        select(InteractionRow.number)
        .where(InteractionRow.number.in_([number for (number,) in keys]), _may_be_deleted(before))
        .with_for_update(skip_locked=True)
    )
    return delete(InteractionRow).where(InteractionRow.number.in_(free))


def select_left_drafts(before: datetime, last: Key | None) -> Select[str]:
    """Return the query for drafts of answers whose question is deleted, in order.

    What was given to others, or waits for a reviewer, stays: it is its expert's.
    """
    del before
    row = ReviewedAnswerRow
    statement = select(row.id).where(_is_left_draft()).order_by(row.id)
    return statement if last is None else statement.where(row.id > last[0])


def delete_drafts(before: datetime, keys: Sequence[Key]) -> Delete:
    """Return the statement that deletes drafts, unless they were sent to review meanwhile."""
    del before
    ids = [answer for (answer,) in keys]
    return delete(ReviewedAnswerRow).where(ReviewedAnswerRow.id.in_(ids), _is_left_draft())


def _is_left_draft() -> ColumnElement[bool]:
    row = ReviewedAnswerRow
    ended = row.state.in_(["draft", "rejected", "withdrawn"])
    return and_(row.kind == "reviewed", row.case.is_(None), ended)


def select_empty_conversations(before: datetime, last: Key | None) -> Select[str, str]:
    """Return the query for old threads without interactions after ``last``, in order."""
    key = (ConversationRow.tenant, ConversationRow.thread)
    statement = select(*key).where(_has_no_interactions(before)).order_by(*key)
    return statement if last is None else statement.where(tuple_(*key) > last)


def delete_conversations(before: datetime, keys: Sequence[Key]) -> Delete:
    """Return the statement that deletes threads, unless they have a new message."""
    key = tuple_(ConversationRow.tenant, ConversationRow.thread)
    return delete(ConversationRow).where(key.in_(keys), _has_no_interactions(before))


def select_named_usage(before: datetime, last: Key | None) -> Select[int]:
    """Return the query for old usage rows that still name a person or channel."""
    number = UsageRow.number
    statement = (
        select(number)
        .where(UsageRow.at < before, or_(UsageRow.person != "", UsageRow.channel != ""))
        .order_by(number)
    )
    return statement if last is None else statement.where(number > last[0])


def anonymize_usage(before: datetime, keys: Sequence[Key]) -> Update:
    """Return the statement that blanks person and channel of usage rows."""
    return (
        update(UsageRow)
        .where(UsageRow.number.in_([number for (number,) in keys]), UsageRow.at < before)
        .values(person="", channel="")
    )


def _may_be_deleted(before: datetime) -> ColumnElement[bool]:
    row = InteractionRow
    waiting = exists().where(
        EscalationRow.interaction_id == row.id,
        # A case settled recently may still have pending notices, readers, or be reopened.
        or_(EscalationRow.state.not_in(sorted(SETTLED)), EscalationRow.changed_at >= before),
    )
    return and_(
        row.created_at < before,
        func.coalesce(row.finished_at, row.created_at) < before,
        not_(UNFINISHED),
        not_(waiting),
    )


def _has_no_interactions(before: datetime) -> ColumnElement[bool]:
    left = exists().where(
        InteractionRow.tenant == ConversationRow.tenant,
        InteractionRow.thread == ConversationRow.thread,
    )
    return and_(ConversationRow.last_at < before, not_(left))
