"""The life of escalations, what is told about them, and who is signed in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_NEW = ("escalation_steps", "notices", "sessions")
_COLUMNS = ("owner_name", "asker", "asker_name", "private", "due_at", "pings", "version")

_OF_ONE = "ix_conversations_channel"
"""The conversations of one person, newest first."""


def upgrade() -> None:
    """Add the columns and the tables; what was escalated before has a history of one step."""
    for column in (
        _text("owner_name"),
        _text("asker"),
        _text("asker_name"),
        sa.Column("private", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        _count("pings"),
        _count("version"),
    ):
        op.add_column("escalations", column)
    op.create_index("ix_escalations_due", "escalations", ["due_at"])
    op.create_index(_OF_ONE, "conversations", ["tenant", "channel", "last_at", "thread"])
    _steps()
    _notices()
    _sessions()
    _begin_histories()


def downgrade() -> None:
    """Remove them; states that the older version does not know become the nearest it knows."""
    op.execute("UPDATE escalations SET state = 'resolved' WHERE state = 'declined'")
    op.execute("UPDATE escalations SET state = 'open' WHERE state <> 'resolved'")
    for table in reversed(_NEW):
        op.drop_table(table)
    op.drop_index(_OF_ONE, "conversations")
    op.drop_index("ix_escalations_due", "escalations")
    with op.batch_alter_table("escalations") as batch:
        for column in _COLUMNS:
            batch.drop_column(column)


def _steps() -> None:
    op.create_table(
        "escalation_steps",
        _escalation(),
        _ordinal(),
        _tenant(),
        sa.Column("step", sa.String(16), nullable=False),
        _text("actor"),
        _text("actor_name"),
        sa.Column("actor_role", sa.String(8), nullable=False, server_default=""),
        _text("text"),
        _moment("at"),
    )


def _notices() -> None:
    op.create_table(
        "notices",
        _escalation(),
        _ordinal(),
        sa.Column("to", sa.String(8), primary_key=True, nullable=False),
        _tenant(),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("owner", sa.String(64)),
        sa.Column("held_until", sa.DateTime(timezone=True)),
        _count("attempts"),
        sa.Column("posted_channel", sa.Text),
        sa.Column("posted_id", sa.Text),
        _text("failure"),
    )
    op.create_index("ix_notices_due", "notices", ["due_at"])


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True, nullable=False),
        _tenant(),
        sa.Column("person", sa.Text, nullable=False),
        _moment("signed_in_at"),
        _moment("until"),
    )
    op.create_index("ix_sessions_until", "sessions", ["until"])


def _begin_histories() -> None:
    op.execute(
        "UPDATE escalations SET asker = (SELECT person FROM interactions "
        "WHERE interactions.id = escalations.interaction_id)"
    )
    op.execute(
        "INSERT INTO escalation_steps (interaction_id, number, tenant, step, at) "
        "SELECT interaction_id, 1, tenant, 'open', opened_at FROM escalations"
    )


def _escalation() -> sa.Column[str]:
    key = sa.ForeignKey("escalations.interaction_id", ondelete="CASCADE")
    return sa.Column("interaction_id", sa.String(36), key, primary_key=True, nullable=False)


def _ordinal() -> sa.Column[int]:
    return sa.Column("number", sa.Integer, primary_key=True, autoincrement=False, nullable=False)


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.String(64), nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
