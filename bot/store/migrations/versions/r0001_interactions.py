"""Interactions, turns, progress and feedback."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    _interactions()
    _turns()
    _progress()
    _feedback()


def downgrade() -> None:
    """Remove them, with all that they hold."""
    for table in ("feedback", "progress", "turns", "interactions"):
        op.drop_table(table)


def _interactions() -> None:
    op.create_table(
        "interactions",
        _number(),
        sa.Column("id", sa.String(36), nullable=False, unique=True),
        _tenant(),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("posted_channel", sa.Text),
        sa.Column("posted_id", sa.Text),
        _moment("created_at"),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_interactions_status", "interactions", ["status", "number"])
    op.create_index("ix_interactions_thread", "interactions", ["tenant", "thread"])
    op.create_index(
        "ix_interactions_posted", "interactions", ["tenant", "posted_channel", "posted_id"]
    )


def _turns() -> None:
    op.create_table(
        "turns",
        _number(),
        _tenant(),
        sa.Column("thread", sa.Text, nullable=False),
        _interaction(),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.UniqueConstraint("interaction_id", "role"),
    )
    op.create_index("ix_turns_thread", "turns", ["tenant", "thread", "number"])


def _progress() -> None:
    op.create_table(
        "progress",
        _interaction(key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        _tenant(),
        sa.Column("stage", sa.String(16), nullable=False),
        _moment("at"),
    )


def _feedback() -> None:
    op.create_table(
        "feedback",
        _interaction(key=True),
        sa.Column("person", sa.Text, primary_key=True),
        _tenant(),
        sa.Column("vote", sa.String(8), nullable=False),
        sa.Column("rating", sa.Integer),
        sa.Column("reason", sa.String(32)),
        sa.Column("comment", sa.Text),
        _moment("given_at"),
    )


def _number() -> sa.Column[int]:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("number", number, primary_key=True, autoincrement=True)


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.String(64), nullable=False)


def _interaction(*, key: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey("interactions.id", ondelete="CASCADE")
    return sa.Column("interaction_id", sa.String(36), reference, primary_key=key, nullable=False)


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
