"""The tables of the record; every row names its tenant."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
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
    """One message and what became of it; ``number`` is the order of arrival."""

    __tablename__ = "interactions"
    __table_args__ = (
        Index("ix_interactions_status", "status", "number"),
        Index("ix_interactions_thread", "tenant", "thread"),
        Index("ix_interactions_posted", "tenant", "posted_channel", "posted_id"),
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
    """One stage of the work on a message; ``sequence`` counts from 1."""

    __tablename__ = "progress"

    interaction_id: Mapped[str] = mapped_column(
        ForeignKey("interactions.id", ondelete="CASCADE"), primary_key=True
    )
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tenant: Mapped[str] = mapped_column(String(64))
    stage: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(Utc)


class FeedbackRow(Table):
    """One person's judgement of one answer."""

    __tablename__ = "feedback"

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
