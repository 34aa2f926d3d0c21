"""SQL statements on interactions, for SQLite and PostgreSQL alike.

What every question executes is a ``Prepared`` statement: building one costs more processor time
than SQLite takes to execute it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TypeAlias, TypeVar

from sqlalchemy import (
    ColumnElement,
    Delete,
    Exists,
    Insert,
    Integer,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute

from bot.domain.cases import WRITTEN_NOTES
from bot.domain.interactions import WITHOUT_TEXT, PostedRef
from bot.domain.json_codec import storable
from bot.domain.messages import Intent, Message, Thread
from bot.store.learning_tables import WITH_WORDS, ReviewedAnswerRow
from bot.store.rows import channel_of, select_by_id
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoteRow,
    NoticeRow,
    ProgressRow,
    SavedAnswerRow,
    Table,
    TurnRow,
)

WITHDRAWN = ("cancelling", "cancelled")
"""The states of a withdrawn interaction."""

MOST_WORDS = 8
"""The most words of a search; others are ignored."""

Statement = TypeVar("Statement")
Prepared: TypeAlias = tuple[Statement, Mapping[str, object]]
"""A statement that is built once in a process, and the values of its parameters this time."""

NO_LIMIT = 2**62
"""Above every interaction number: an unrecorded message comes after all recorded ones."""


def insert_once(dialect: str, table: type[Table], *rows: Mapping[str, object]) -> Insert:
    """Return the statement that inserts each row whose key does not exist."""
    return insert_new(dialect, table).values(list(rows))


@cache
def insert_new(dialect: str, table: type[Table]) -> Insert:
    """Return the statement that inserts the rows it is executed with whose key does not exist."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return make(table).on_conflict_do_nothing()


def upsert(
    dialect: str,
    table: type[Table],
    values: Mapping[str, object],
    key: Sequence[str],
    changed: Collection[str] | None = None,
) -> Insert:
    """Return the statement that inserts a row or replaces columns of the row with its key.

    ``changed`` are the columns to replace; None: all but the key.
    """
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    replaced = values.keys() - set(key) if changed is None else changed
    return (
        make(table)
        .values(**values)
        .on_conflict_do_update(
            index_elements=key, set_={name: values[name] for name in sorted(replaced)}
        )
    )


def select_interaction(interaction_id: str) -> Prepared[Select[InteractionRow]]:
    """Return the query for an interaction by id; the id may be arbitrary user input."""
    return select_by_id(), {"interaction": storable(interaction_id)}


def select_interaction_for_update(interaction_id: str) -> Prepared[Select[InteractionRow]]:
    """Return the query that locks an interaction until the transaction ends."""
    return select_by_id(locked=True), {"interaction": storable(interaction_id)}


def select_tenant(interaction_id: str) -> Select[str]:
    """Return the query for the tenant of an interaction."""
    return select(InteractionRow.tenant).where(InteractionRow.id == storable(interaction_id))


def select_posted_at(tenant: str, ref: PostedRef) -> Select[InteractionRow]:
    """Return the query for the latest interaction whose reply was posted at ``ref``."""
    return (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.posted_channel == storable(ref.channel),
            InteractionRow.posted_id == storable(ref.id),
        )
        .order_by(InteractionRow.number.desc())
        .limit(1)
    )


def select_newest_of(place: Thread, person: str) -> Prepared[Select[InteractionRow]]:
    """Return the query for a person's newest interaction with an outcome in a channel.

    ``place`` is any thread of the channel. Ordered as the index ix_interactions_person, so that
    the scan stops at the first match.
    """
    values = {
        "tenant": place.tenant,
        "person": storable(person),
        "channel": channel_of(place),
    }
    return _select_newest_of(), values


@cache
def _select_newest_of() -> Select[InteractionRow]:
    return (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == bindparam("tenant"),
            InteractionRow.person == bindparam("person"),
            InteractionRow.channel == bindparam("channel"),
            InteractionRow.outcome.is_not(None),
        )
        .order_by(InteractionRow.created_at.desc(), InteractionRow.number.desc())
        .limit(1)
    )


def select_in_thread(
    thread: Thread, limit: int, before: int | None = None
) -> Select[InteractionRow]:
    """Return the query for the last interactions of a thread, newest first, none withdrawn.

    With ``before``, only those with a lower number.
    """
    listed = (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            not_withdrawn(),
        )
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )
    return listed if before is None else listed.where(InteractionRow.number < before)


def not_withdrawn() -> ColumnElement[bool]:
    """Return the condition that an interaction is not withdrawn, nor about to be."""
    return InteractionRow.status.not_in(WITHDRAWN)


def select_answered(tenant: str, limit: int) -> Select[InteractionRow]:
    """Return the query for the last interactions of a tenant with an outcome, newest first."""
    return (
        select(InteractionRow)
        .where(InteractionRow.tenant == tenant, InteractionRow.outcome.is_not(None))
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def select_asked_before(message: Message, text: str) -> Select[str]:
    """Return the query for a thread's newest other question with exactly this text."""
    return (
        select(TurnRow.interaction_id)
        .where(
            TurnRow.tenant == message.thread.tenant,
            TurnRow.thread == message.thread.key,
            TurnRow.role == "user",
            TurnRow.text == storable(text),
            TurnRow.interaction_id != message.interaction_id,
        )
        .order_by(TurnRow.number.desc())
        .limit(1)
    )


def select_history(thread: Thread, before: str, limit: int) -> Prepared[Select[InteractionRow]]:
    """Return the query for a thread's answered interactions before a message, newest first.

    Silent outcomes and refusals stored without text are left out.
    """
    values = {"tenant": thread.tenant, "thread": thread.key, "before": before, "most": limit}
    return _select_history(), values


@cache
def _select_history() -> Select[InteractionRow]:
    row = InteractionRow
    own = select(row.number).where(row.id == bindparam("before")).scalar_subquery()
    return (
        select(row)
        .where(
            row.tenant == bindparam("tenant"),
            row.thread == bindparam("thread"),
            not_withdrawn(),
            row.number < func.coalesce(own, NO_LIMIT),
            row.outcome.is_not(None),
            row.answer_type != "SILENT",
            not_(refused_without_text()),
        )
        .order_by(row.number.desc())
        .limit(bindparam("most", type_=Integer))
    )


def refused_without_text() -> ColumnElement[bool]:
    """Return the condition for messages refused by a limit, stored without text (WITHOUT_TEXT)."""
    row = InteractionRow
    # The columns first: few rows match them, and searching the long outcome is slow.
    return and_(
        row.intent == Intent.UNKNOWN.value,
        row.answer_type.in_(("GENERIC", "SILENT")),
        or_(*(row.outcome.contains(f'"{note}"', autoescape=True) for note in sorted(WITHOUT_TEXT))),
    )


def select_stages(interaction_id: str, after: int) -> Select[str, int]:
    """Return the query for the progress rows after a sequence number, in order."""
    return (
        select(ProgressRow.stage, ProgressRow.pages)
        .where(ProgressRow.interaction_id == interaction_id, ProgressRow.sequence > after)
        .order_by(ProgressRow.sequence)
    )


def select_feedback(interaction_id: str) -> Select[FeedbackRow]:
    """Return the query for all feedback on one answer, oldest first."""
    return (
        select(FeedbackRow)
        .where(FeedbackRow.interaction_id == interaction_id)
        .order_by(FeedbackRow.given_at, FeedbackRow.person)
    )


_BY_EXPERT = EscalationStepRow.actor_role == "expert"


def delete_texts(interaction_id: str, *, keep_acts: bool = False) -> tuple[Delete | Update, ...]:
    """Return the statements that delete other texts of a withdrawn question and its answer.

    The escalation and its notices are blanked, not deleted: they hold where experts' replies were
    posted, until those are withdrawn. ``keep_acts``: what experts did stays, without their words,
    and with it the case.
    """
    blank = {"question": "", "asker_name": "", "due_at": None}
    alone = {"join_key": "", "join_scope": "", "joined_to": None}
    steps = EscalationStepRow.interaction_id == interaction_id
    return (
        # First: this waits for a reminder being written, so that its steps are deleted below, too.
        update(EscalationRow)
        .where(EscalationRow.interaction_id == interaction_id)
        .values(state="resolved", **blank, **alone, **({} if keep_acts else {"owner_name": ""})),
        delete(TurnRow).where(TurnRow.interaction_id == interaction_id),
        delete(FeedbackRow).where(FeedbackRow.interaction_id == interaction_id),
        delete(EscalationStepRow).where(steps, *([not_(_BY_EXPERT)] if keep_acts else [])),
        update(EscalationStepRow).where(steps).values(text=""),
        *(delete(table).where(table.interaction_id == interaction_id) for table in WITH_WORDS),
        delete(SavedAnswerRow).where(SavedAnswerRow.interaction_id == interaction_id),
        # What experts wrote in the threads of its case.
        delete(NoteRow).where(
            NoteRow.interaction_id == interaction_id, NoteRow.key.contains(WRITTEN_NOTES)
        ),
        # One that was given to others has words that an expert approved, and stays theirs.
        delete(ReviewedAnswerRow).where(
            ReviewedAnswerRow.case == interaction_id, ReviewedAnswerRow.live_at.is_(None)
        ),
        update(NoticeRow)
        .where(NoticeRow.interaction_id == interaction_id)
        .values(due_at=None, failure=""),
    )


def has_acts(interaction_id: ColumnElement[str] | InstrumentedAttribute[str]) -> Exists:
    """Return the condition that experts' acts on a case are kept."""
    return exists().where(EscalationStepRow.interaction_id == interaction_id, _BY_EXPERT)


def delete_case(interaction_id: str) -> Delete:
    """Return the statement that deletes the blanked escalation of a withdrawn question.

    One with acts that are kept stays.
    """
    row = EscalationRow
    return delete(row).where(
        row.interaction_id == interaction_id, not_(has_acts(row.interaction_id))
    )


def select_notices_posted_to_asker(interaction_id: str) -> Select[str | None, str | None]:
    """Return the query for where notices to the asker were posted, in order."""
    row = NoticeRow
    return (
        select(row.posted_channel, row.posted_id)
        .where(row.interaction_id == interaction_id, row.to == "asker", row.posted_id.is_not(None))
        .order_by(row.number)
    )


def is_of_tenant(column: ColumnElement[str], tenant: str) -> ColumnElement[bool]:
    """Return the condition that a row is a tenant's, where no index is to be used for it.

    SQLite takes an index that begins with the tenant before a range of numbers, and reads all.
    """
    return func.coalesce(column, "") == tenant


def utc_day(dialect: str, moment: ColumnElement[datetime]) -> ColumnElement[str]:
    """Return the SQL expression of a time's UTC date, as ``2026-11-22``."""
    if dialect == "postgresql":
        return func.to_char(func.timezone("UTC", moment), "YYYY-MM-DD")
    return func.substr(moment, 1, 10)


def contains(column: InstrumentedAttribute[str], word: str) -> ColumnElement[bool]:
    """Return the condition that a text contains a word, case-insensitively.

    SQLite, and PostgreSQL with the C locale, fold the case of a to z only; a word with other
    letters is searched in its usual spellings (as given, lower, upper, capitalized).
    """
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return or_(*(column.icontains(each, autoescape=True) for each in sorted(spellings)))
