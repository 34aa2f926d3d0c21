"""The database tables (SQLAlchemy models); all but replicas have a tenant column."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

Number = BigInteger().with_variant(Integer, "sqlite")


class Utc(TypeDecorator[datetime]):
    """A column of aware datetimes, returned in UTC even if the database stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Table(DeclarativeBase):
    """Base class of all tables; holds their metadata."""


class InteractionRow(Table):
    """One message and its outcome; ``number`` is the order of arrival.

    ``channel`` is ``platform:channel``. ``owner`` and ``epoch`` are the claim of the process that
    works on it. ``intent``, ``answer_type``, ``confidence`` and ``confidence_level`` repeat values
    of ``outcome`` for searches and statistics; empty without one. A search reads its covering
    index alone, because the text columns are long.
    """

    __tablename__ = "interactions"
    __table_args__ = (
        Index("ix_interactions_status", "status", "number"),
        Index("ix_interactions_thread", "tenant", "thread"),
        Index("ix_interactions_posted", "tenant", "posted_channel", "posted_id"),
        Index("ix_interactions_person", "tenant", "person", "created_at"),
        Index("ix_interactions_channel", "tenant", "channel", "created_at"),
        Index("ix_interactions_created", "created_at"),
        Index("ix_interactions_unposted", "status", "posted_id"),
        Index(
            "ix_interactions_searched",
            "tenant",
            "created_at",
            "number",
            "status",
            "intent",
            "answer_type",
            "confidence",
            "channel",
            "id",
            "finished_at",
            "confidence_level",
        ),
    )

    number: Mapped[int] = mapped_column(Number, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(36), unique=True)
    tenant: Mapped[str] = mapped_column(String(64))
    thread: Mapped[str] = mapped_column(Text)
    person: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(16))
    message: Mapped[str] = mapped_column(Text)
    outcome: Mapped[str | None] = mapped_column(Text)
    posted_channel: Mapped[str | None] = mapped_column(Text)
    posted_id: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Utc)
    finished_at: Mapped[datetime | None] = mapped_column(Utc)
    channel: Mapped[str] = mapped_column(Text, server_default="")
    owner: Mapped[str | None] = mapped_column(String(64))
    epoch: Mapped[int] = mapped_column(Integer, server_default="0")
    revision: Mapped[int] = mapped_column(Integer, server_default="0")
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    posting: Mapped[bool] = mapped_column(Boolean, server_default=false())
    placeholder_channel: Mapped[str | None] = mapped_column(Text)
    placeholder_id: Mapped[str | None] = mapped_column(Text)
    failure: Mapped[str] = mapped_column(Text, server_default="")
    intent: Mapped[str] = mapped_column(String(16), server_default="")
    answer_type: Mapped[str] = mapped_column(String(24), server_default="")
    confidence: Mapped[float | None] = mapped_column(Float)
    confidence_level: Mapped[str] = mapped_column(String(8), server_default="")


class TurnRow(Table):
    """One message of a conversation (question or answer), as visible to all in the thread."""

    __tablename__ = "turns"
    __table_args__ = (
        UniqueConstraint("interaction_id", "role"),
        Index("ix_turns_thread", "tenant", "thread", "number"),
    )

    number: Mapped[int] = mapped_column(Number, primary_key=True, autoincrement=True)
    tenant: Mapped[str] = mapped_column(String(64))
    thread: Mapped[str] = mapped_column(Text)
    interaction_id: Mapped[str] = mapped_column(ForeignKey("interactions.id", ondelete="CASCADE"))
    role: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)


class ProgressRow(Table):
    """One progress stage of the work on a message; ``sequence`` counts from 1.

    ``pages`` is the number of pages read in it, 0 if unknown.
    """

    __tablename__ = "progress"

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tenant: Mapped[str] = mapped_column(String(64))
    stage: Mapped[str] = mapped_column(String(16))
    pages: Mapped[int] = mapped_column(Integer, default=0, server_default=text("0"))
    at: Mapped[datetime] = mapped_column(Utc)


class FeedbackRow(Table):
    """One person's feedback on one answer."""

    __tablename__ = "feedback"
    __table_args__ = (Index("ix_feedback_given", "tenant", "given_at"),)

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE"), primary_key=True
    )
    person: Mapped[str] = mapped_column(Text, primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    vote: Mapped[str] = mapped_column(String(8))
    rating: Mapped[int | None] = mapped_column(Integer)
    reason: Mapped[str | None] = mapped_column(String(32))
    comment: Mapped[str | None] = mapped_column(Text)
    given_at: Mapped[datetime] = mapped_column(Utc)


class ReplicaRow(Table):
    """A server process, considered alive until its lease expires."""

    __tablename__ = "replicas"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(Utc)
    lease_until: Mapped[datetime] = mapped_column(Utc)


class ConversationRow(Table):
    """A thread in which the bot received messages."""

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_last", "tenant", "last_at"),
        Index("ix_conversations_channel", "tenant", "channel", "last_at", "thread"),
    )

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    thread: Mapped[str] = mapped_column(Text, primary_key=True)
    channel: Mapped[str] = mapped_column(Text)
    private: Mapped[bool] = mapped_column(Boolean)
    started_at: Mapped[datetime] = mapped_column(Utc)
    last_at: Mapped[datetime] = mapped_column(Utc)


class UsageRow(Table):
    """One model call; kept when its interaction is deleted, so that sums stay correct."""

    __tablename__ = "usage"
    __table_args__ = (
        UniqueConstraint("interaction_id", "sequence"),
        Index("ix_usage_at", "tenant", "at"),
    )

    number: Mapped[int] = mapped_column(Number, primary_key=True, autoincrement=True)
    tenant: Mapped[str] = mapped_column(String(64))
    interaction_id: Mapped[str] = mapped_column(String(36))
    sequence: Mapped[int] = mapped_column(Integer)
    at: Mapped[datetime] = mapped_column(Utc)
    channel: Mapped[str] = mapped_column(Text)
    person: Mapped[str] = mapped_column(Text)
    purpose: Mapped[str] = mapped_column(String(32))
    model: Mapped[str] = mapped_column(Text)
    input_tokens: Mapped[int] = mapped_column(Integer)
    output_tokens: Mapped[int] = mapped_column(Integer)
    cost_usd: Mapped[float | None] = mapped_column(Float)


class EscalationRow(Table):
    """A question escalated to experts; ``owner`` is the id of the expert who claimed it.

    ``due_at`` is the time of the next reminder, null for none. ``version`` counts changes.
    ``level`` is 2 once the second level was asked.
    """

    __tablename__ = "escalations"
    __table_args__ = (
        Index("ix_escalations_state", "tenant", "state", "opened_at"),
        Index("ix_escalations_due", "due_at"),
        Index("ix_escalations_joined", "joined_to"),
        Index("ix_escalations_join_key", "tenant", "join_key"),
    )

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE"), primary_key=True
    )
    tenant: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(String(32))
    question: Mapped[str] = mapped_column(Text)
    owner: Mapped[str | None] = mapped_column(Text)
    opened_at: Mapped[datetime] = mapped_column(Utc)
    changed_at: Mapped[datetime] = mapped_column(Utc)
    owner_name: Mapped[str] = mapped_column(Text, server_default="")
    asker: Mapped[str] = mapped_column(Text, server_default="")
    asker_name: Mapped[str] = mapped_column(Text, server_default="")
    private: Mapped[bool] = mapped_column(Boolean, server_default=true())
    due_at: Mapped[datetime | None] = mapped_column(Utc)
    pings: Mapped[int] = mapped_column(Integer, server_default="0")
    version: Mapped[int] = mapped_column(Integer, server_default="0")
    level: Mapped[int] = mapped_column(Integer, server_default="1")
    joined_to: Mapped[str | None] = mapped_column(Text)
    join_key: Mapped[str] = mapped_column(String(64), server_default="")
    join_scope: Mapped[str] = mapped_column(String(64), server_default="")


class EscalationStepRow(Table):
    """One entry of an escalation's history; ``number`` counts from 1 per escalation.

    ``assignee`` is who got an assigned case, ``about`` the reply that a correction is about.
    ``in_thread``: the asker had read the reply already.
    """

    __tablename__ = "escalation_steps"

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("escalations.interaction_id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tenant: Mapped[str] = mapped_column(String(64))
    step: Mapped[str] = mapped_column(String(16))
    actor: Mapped[str] = mapped_column(Text, server_default="")
    actor_name: Mapped[str] = mapped_column(Text, server_default="")
    actor_role: Mapped[str] = mapped_column(String(8), server_default="")
    text: Mapped[str] = mapped_column(Text, server_default="")
    at: Mapped[datetime] = mapped_column(Utc)
    assignee: Mapped[str] = mapped_column(Text, server_default="")
    assignee_name: Mapped[str] = mapped_column(Text, server_default="")
    about: Mapped[int] = mapped_column(Integer, server_default="0")
    in_thread: Mapped[bool] = mapped_column(Boolean, server_default=false())


class NoticeRow(Table):
    """A notice about an escalation step, pending or settled.

    ``to`` is its recipient: "asker", or "people" for the experts. ``due_at`` is null once it is
    settled. ``owner`` and ``held_until`` are the claim of the process that posts it.
    """

    __tablename__ = "notices"
    __table_args__ = (Index("ix_notices_due", "due_at"),)

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("escalations.interaction_id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    to: Mapped[str] = mapped_column(String(8), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    due_at: Mapped[datetime | None] = mapped_column(Utc)
    owner: Mapped[str | None] = mapped_column(String(64))
    held_until: Mapped[datetime | None] = mapped_column(Utc)
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    posted_channel: Mapped[str | None] = mapped_column(Text)
    posted_id: Mapped[str | None] = mapped_column(Text)
    failure: Mapped[str] = mapped_column(Text, server_default="")


class SessionRow(Table):
    """A web session; ``id`` is the hash of the browser's session token.

    ``refresh_token`` is encrypted. ``asked_until`` is set by the process that asks the issuer.
    """

    __tablename__ = "sessions"
    __table_args__ = (
        Index("ix_sessions_until", "until"),
        Index("ix_sessions_person", "tenant", "person_id"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    person: Mapped[str] = mapped_column(Text)
    signed_in_at: Mapped[datetime] = mapped_column(Utc)
    until: Mapped[datetime] = mapped_column(Utc)
    person_id: Mapped[str] = mapped_column(Text, server_default="")
    confirmed_at: Mapped[datetime | None] = mapped_column(Utc)
    asked_until: Mapped[datetime | None] = mapped_column(Utc)
    refresh_token: Mapped[str] = mapped_column(Text, server_default="")


class PolicyRow(Table):
    """The policy that an admin set for one channel, as JSON with its format version."""

    __tablename__ = "policies"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    channel: Mapped[str] = mapped_column(Text, primary_key=True)
    policy: Mapped[str] = mapped_column(Text)
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(Utc)


class AuditRow(Table):
    """One audited action of an admin or expert."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_at", "tenant", "at"),)

    number: Mapped[int] = mapped_column(Number, primary_key=True, autoincrement=True)
    tenant: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(Utc)
    actor: Mapped[str] = mapped_column(Text)
    act: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(Text)
    detail: Mapped[str] = mapped_column(Text, server_default="")


class PauseRow(Table):
    """A pause of all answering for one tenant: reason, who paused it, and since when."""

    __tablename__ = "pauses"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    reason: Mapped[str] = mapped_column(Text)
    paused_by: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(Utc)


class NoteRow(Table):
    """A text that a platform adapter stored by key; ``at`` is when it was last written.

    A note with an ``interaction_id`` is deleted with that interaction.
    """

    __tablename__ = "notes"
    __table_args__ = (Index("ix_notes_interaction", "interaction_id"),)

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    text: Mapped[str] = mapped_column(Text, default="", server_default="")
    interaction_id: Mapped[str | None] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE")
    )
    at: Mapped[datetime] = mapped_column(Utc)


class SavedAnswerRow(Table):
    """An answer for later askers of the same question: the outcome of ``interaction_id``.

    ``key`` is a digest of all that the answer depends on (bot.answering.cache_keys). There is no
    text and no person.
    """

    __tablename__ = "saved_answers"
    __table_args__ = (
        Index("ix_saved_answers_interaction", "interaction_id"),
        Index("ix_saved_answers_answered", "answered_at"),
    )

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    interaction_id: Mapped[str] = mapped_column(ForeignKey("interactions.id", ondelete="CASCADE"))
    answered_at: Mapped[datetime] = mapped_column(Utc)
