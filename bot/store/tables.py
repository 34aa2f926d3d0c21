"""The tables of the record; every row names its tenant."""

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
    """A moment; aware in, aware (UTC) out, also where the database keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Table(DeclarativeBase):
    """What all tables have in common: their schema."""


class InteractionRow(Table):
    """One message and what became of it; ``number`` is the order of arrival.

    ``channel`` is ``platform:channel``. ``owner`` and ``epoch`` are the claim of the process that
    works on it. ``intent``, ``answer_type``, ``confidence`` and ``confidence_level`` repeat what
    ``outcome`` says, to be searched and summed by; empty without one. A search reads its index
    alone, for the texts between the columns are long.
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
    """One side of one exchange, as everybody in the thread saw it."""

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
    """One stage of the work on a message; ``sequence`` counts from 1.

    ``pages`` is how many are read in it, 0 where that is not known.
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
    """One person's judgement of one answer."""

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
    """A server process that is alive until its lease runs out."""

    __tablename__ = "replicas"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(Utc)
    lease_until: Mapped[datetime] = mapped_column(Utc)


class ConversationRow(Table):
    """A thread that the bot was asked in."""

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
    """One call of a model; it outlives its interaction, so that sums stay true."""

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
    """A question that went to a person; ``owner`` is the id of the one who has it.

    ``due_at`` is when people are reminded next; null when they are not. ``version`` counts changes.
    """

    __tablename__ = "escalations"
    __table_args__ = (
        Index("ix_escalations_state", "tenant", "state", "opened_at"),
        Index("ix_escalations_due", "due_at"),
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


class EscalationStepRow(Table):
    """One entry of an escalation's history; ``number`` counts within it from 1."""

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


class NoticeRow(Table):
    """What an asker, or people, are still to be told about a step; or have been.

    ``due_at`` null: it is settled. ``owner`` and ``held_until`` are the claim of the process that
    tells it now.
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
    """One who is signed in; ``id`` is the hash of what the browser keeps."""

    __tablename__ = "sessions"
    __table_args__ = (Index("ix_sessions_until", "until"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    person: Mapped[str] = mapped_column(Text)
    signed_in_at: Mapped[datetime] = mapped_column(Utc)
    until: Mapped[datetime] = mapped_column(Utc)


class PolicyRow(Table):
    """What one channel allows, as an admin set it; JSON with its format's number."""

    __tablename__ = "policies"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    channel: Mapped[str] = mapped_column(Text, primary_key=True)
    policy: Mapped[str] = mapped_column(Text)
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(Utc)


class AuditRow(Table):
    """One act of an admin."""

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
    """That nothing is answered for a tenant, since when, and why."""

    __tablename__ = "pauses"

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    reason: Mapped[str] = mapped_column(Text)
    paused_by: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(Utc)


class NoteRow(Table):
    """What an adapter remembers; a note on an interaction goes with it. ``at``: last written."""

    __tablename__ = "notes"
    __table_args__ = (Index("ix_notes_interaction", "interaction_id"),)

    tenant: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    text: Mapped[str] = mapped_column(Text, default="", server_default="")
    interaction_id: Mapped[str | None] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE")
    )
    at: Mapped[datetime] = mapped_column(Utc)
