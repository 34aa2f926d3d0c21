"""SQL statements on interactions, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Delete,
    Exists,
    Insert,
    Select,
    Update,
    and_,
    case,
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

from bot.domain.interactions import WITHOUT_TEXT, PostedRef
from bot.domain.json_codec import storable
from bot.domain.messages import Intent, Message, Thread
from bot.store.learning_tables import WITH_WORDS, ReviewedAnswerRow
from bot.store.rows import channel_of
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
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

NO_LIMIT = 2**62
"""Above every interaction number: an unrecorded message comes after all recorded ones."""


def insert_once(dialect: str, table: type[Table], *rows: Mapping[str, object]) -> Insert:
    """Return the statement that inserts each row whose key does not exist."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return make(table).values(list(rows)).on_conflict_do_nothing()


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


def select_interaction(interaction_id: str) -> Select[InteractionRow]:
    """Return the query for an interaction by id; the id may be arbitrary user input."""
    return select(InteractionRow).where(InteractionRow.id == storable(interaction_id))


def select_interaction_for_update(interaction_id: str) -> Select[InteractionRow]:
    """Return the query that locks an interaction until the transaction ends."""
    return select_interaction(interaction_id).with_for_update()


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


def select_newest_of(place: Thread, person: str) -> Select[InteractionRow]:
    """Return the query for a person's newest interaction with an outcome in a channel.

    ``place`` is any thread of the channel. Ordered as the index ix_interactions_person, so that
    the scan stops at the first match.
    """
    return (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == place.tenant,
            InteractionRow.person == storable(person),
            InteractionRow.channel == channel_of(place),
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


def _update(interaction_id: str) -> Update:
    return update(InteractionRow).where(InteractionRow.id == interaction_id)


def finish(interaction_id: str, at: datetime, outcome: Mapping[str, object]) -> Update:
    """Return the statement that stores an outcome's columns, unless one is stored already."""
    return (
        _update(interaction_id)
        .where(InteractionRow.status == "working")
        .values(status="done", finished_at=at, **outcome)
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


def mark_posted(interaction_id: str, ref: PostedRef) -> Update:
    """Return the statement that stores where the reply was posted, replacing any earlier place."""
    return _update(interaction_id).values(
        posted_channel=storable(ref.channel), posted_id=storable(ref.id), posting=False
    )


def mark_placeholder(interaction_id: str, ref: PostedRef | None) -> Update:
    """Return the statement that stores where the placeholder is; None for no placeholder."""
    channel, place = (storable(ref.channel), storable(ref.id)) if ref else (None, None)
    return _update(interaction_id).values(placeholder_channel=channel, placeholder_id=place)


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


def select_history(thread: Thread, before: str, limit: int) -> Select[InteractionRow]:
    """Return the query for a thread's answered interactions before a message, newest first.

    Silent outcomes and refusals stored without text are left out.
    """
    own = select(InteractionRow.number).where(InteractionRow.id == before).scalar_subquery()
    return select_in_thread(thread, limit).where(
        InteractionRow.number < func.coalesce(own, NO_LIMIT),
        InteractionRow.outcome.is_not(None),
        InteractionRow.answer_type != "SILENT",
        not_(refused_without_text()),
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


def select_last_stage(interaction_id: str) -> Select[int]:
    """Return the query for the number of the last progress row, 0 if there is none.

    The interaction must be locked, or two writers would use the same next number.
    """
    return select(func.coalesce(func.max(ProgressRow.sequence), 0)).where(
        ProgressRow.interaction_id == interaction_id
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
    steps = EscalationStepRow.interaction_id == interaction_id
    return (
        # First: this waits for a reminder being written, so that its steps are deleted below, too.
        update(EscalationRow)
        .where(EscalationRow.interaction_id == interaction_id)
        .values(state="resolved", **blank, **({} if keep_acts else {"owner_name": ""})),
        delete(TurnRow).where(TurnRow.interaction_id == interaction_id),
        delete(FeedbackRow).where(FeedbackRow.interaction_id == interaction_id),
        delete(EscalationStepRow).where(steps, *([not_(_BY_EXPERT)] if keep_acts else [])),
        update(EscalationStepRow).where(steps).values(text=""),
        *(delete(table).where(table.interaction_id == interaction_id) for table in WITH_WORDS),
        delete(SavedAnswerRow).where(SavedAnswerRow.interaction_id == interaction_id),
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
