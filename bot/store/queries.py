"""SQL statements on interactions, each valid on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    Delete,
    Insert,
    Select,
    Update,
    and_,
    case,
    delete,
    func,
    not_,
    or_,
    select,
)
from sqlalchemy import update as update_of
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.interactions import PostedRef
from bot.domain.json_codec import storable
from bot.domain.messages import Intent, Message, Thread
from bot.domain.outcomes import WITHOUT_TEXT
from bot.store.rows import channel_of
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoticeRow,
    ProgressRow,
    Table,
    TurnRow,
)

NO_LIMIT = 2**62
"""Above every number: a message that is not recorded comes after all that are."""


def insert_once(dialect: str, table: type[Table], values: Mapping[str, object]) -> Insert:
    """Insert a row unless its key is there already."""
    if dialect == "postgresql":
        return postgresql.insert(table).values(**values).on_conflict_do_nothing()
    return sqlite.insert(table).values(**values).on_conflict_do_nothing()


def upsert_conversation(dialect: str, values: Mapping[str, object]) -> Insert:
    """Note that a thread was written to."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return (
        make(ConversationRow)
        .values(**values)
        .on_conflict_do_update(
            index_elements=[ConversationRow.tenant, ConversationRow.thread],
            set_={"last_at": values["last_at"]},
        )
    )


def select_interaction(interaction_id: str) -> Select[InteractionRow]:
    """One interaction by its id, which may be anything that somebody typed."""
    return select(InteractionRow).where(InteractionRow.id == storable(interaction_id))


def select_interaction_for_update(interaction_id: str) -> Select[InteractionRow]:
    """One interaction, kept from other writers until the transaction ends."""
    return select_interaction(interaction_id).with_for_update()


def select_posted_at(tenant: str, ref: PostedRef) -> Select[InteractionRow]:
    """The latest interaction whose reply is there."""
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
    """What a person asked last, of what has an outcome; ``place`` is any thread of the channel.

    In the order of its index, so that no more of their questions is read than are passed over.
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
    """The last interactions of a thread, newest first; withdrawn ones are left out."""
    listed = (
        select(InteractionRow)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            InteractionRow.status.not_in(("cancelling", "cancelled")),
        )
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )
    return listed if before is None else listed.where(InteractionRow.number < before)


def select_answered(tenant: str, limit: int) -> Select[InteractionRow]:
    """The last interactions of a tenant with an outcome, newest first."""
    return (
        select(InteractionRow)
        .where(InteractionRow.tenant == tenant, InteractionRow.outcome.is_not(None))
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def finish(interaction_id: str, at: datetime, outcome: Mapping[str, object]) -> Update:
    """Record an outcome's columns, and whether its reply is about to be posted."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id, InteractionRow.status == "working")
        .values(status="done", finished_at=at, **outcome)
    )


def give_up(interaction_id: str, why: str) -> Update:
    """Note that a reply can't be posted, or not be taken back."""
    ended = case((InteractionRow.status == "cancelling", "cancelled"), else_="failed")
    return (
        update_of(InteractionRow)
        .where(
            InteractionRow.id == interaction_id,
            InteractionRow.status.in_(("done", "cancelling")),
        )
        .values(status=ended, failure=why)
    )


def withdraw_interaction(interaction_id: str, message: str, at: datetime) -> Update:
    """Blank an interaction's texts, whatever its state; what was posted is still to be removed."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(
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
    )


def finish_withdrawal(interaction_id: str, message: str) -> Update:
    """End a withdrawal."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id, InteractionRow.status == "cancelling")
        .values(status="cancelled", message=message)
    )


def replace_message(interaction_id: str, message: str) -> Update:
    """Put an edited message in place of the first, while nothing is answered."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id, InteractionRow.status == "working")
        .values(message=message, revision=InteractionRow.revision + 1)
    )


def keep_message(interaction_id: str, message: str) -> Update:
    """Put the message that was answered in place of an edit that came too late."""
    return (
        update_of(InteractionRow).where(InteractionRow.id == interaction_id).values(message=message)
    )


def begin_posting(interaction_id: str) -> Update:
    """Note that a post is about to be made."""
    return update_of(InteractionRow).where(InteractionRow.id == interaction_id).values(posting=True)


def count_attempt(interaction_id: str) -> Update:
    """Count a post that failed."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(attempts=InteractionRow.attempts + 1, posting=False)
    )


def mark_posted(interaction_id: str, ref: PostedRef) -> Update:
    """Note where the reply became visible; the last place counts."""
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(posted_channel=storable(ref.channel), posted_id=storable(ref.id), posting=False)
    )


def mark_placeholder(interaction_id: str, ref: PostedRef | None) -> Update:
    """Note where the placeholder is; None: there is none."""
    channel, place = (storable(ref.channel), storable(ref.id)) if ref else (None, None)
    return (
        update_of(InteractionRow)
        .where(InteractionRow.id == interaction_id)
        .values(placeholder_channel=channel, placeholder_id=place)
    )


def select_asked_before(message: Message, text: str) -> Select[str]:
    """The newest earlier question of a thread that says just that."""
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
    """The last exchanges that a thread saw, newest first, of what arrived before a message."""
    own = select(InteractionRow.number).where(InteractionRow.id == before).scalar_subquery()
    return select_in_thread(thread, limit).where(
        InteractionRow.number < func.coalesce(own, NO_LIMIT),
        InteractionRow.outcome.is_not(None),
        InteractionRow.answer_type != "SILENT",
        not_(refused_without_text()),
    )


def refused_without_text() -> ColumnElement[bool]:
    """What was refused for want of room: its words are not kept (WITHOUT_TEXT)."""
    row = InteractionRow
    # By the columns first: an outcome is long, and few are of these kinds.
    return and_(
        row.intent == Intent.UNKNOWN.value,
        row.answer_type.in_(("GENERIC", "SILENT")),
        or_(*(row.outcome.contains(f'"{note}"', autoescape=True) for note in sorted(WITHOUT_TEXT))),
    )


def select_last_stage(interaction_id: str) -> Select[int]:
    """The number of the last progress row, 0 before the first.

    The interaction must be held, or two writers would take the same next number.
    """
    return select(func.coalesce(func.max(ProgressRow.sequence), 0)).where(
        ProgressRow.interaction_id == interaction_id
    )


def select_stages(interaction_id: str, after: int) -> Select[str, int]:
    """The progress rows after a sequence number."""
    return (
        select(ProgressRow.stage, ProgressRow.pages)
        .where(ProgressRow.interaction_id == interaction_id, ProgressRow.sequence > after)
        .order_by(ProgressRow.sequence)
    )


def upsert_feedback(dialect: str, tenant: str, feedback: Mapping[str, object]) -> Insert:
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


def delete_feedback(interaction_id: str, person: str) -> Delete:
    """Remove one person's judgement."""
    return delete(FeedbackRow).where(
        FeedbackRow.interaction_id == interaction_id, FeedbackRow.person == person
    )


def select_feedback(interaction_id: str) -> Select[FeedbackRow]:
    """All judgements of one answer, oldest first."""
    return (
        select(FeedbackRow)
        .where(FeedbackRow.interaction_id == interaction_id)
        .order_by(FeedbackRow.given_at, FeedbackRow.person)
    )


def delete_texts(interaction_id: str) -> tuple[Delete | Update, ...]:
    """What else holds words of a cancelled question or of its answer.

    Of its escalation is left where people's replies were posted, until they are taken back.
    """
    blank = {"question": "", "asker_name": "", "owner_name": "", "due_at": None}
    return (
        # First, for a reminder that is being written holds it: its entries go with the others.
        update_of(EscalationRow)
        .where(EscalationRow.interaction_id == interaction_id)
        .values(state="resolved", **blank),
        delete(TurnRow).where(TurnRow.interaction_id == interaction_id),
        delete(FeedbackRow).where(FeedbackRow.interaction_id == interaction_id),
        delete(EscalationStepRow).where(EscalationStepRow.interaction_id == interaction_id),
        update_of(NoticeRow)
        .where(NoticeRow.interaction_id == interaction_id)
        .values(due_at=None, failure=""),
    )


def delete_case(interaction_id: str) -> Delete:
    """What was left of an escalation while its question was withdrawn."""
    return delete(EscalationRow).where(EscalationRow.interaction_id == interaction_id)


def select_notices_posted_to_asker(interaction_id: str) -> Select[str | None, str | None]:
    """Where the asker was told of an escalation, in order."""
    row = NoticeRow
    return (
        select(row.posted_channel, row.posted_id)
        .where(row.interaction_id == interaction_id, row.to == "asker", row.posted_id.is_not(None))
        .order_by(row.number)
    )
