"""Claims, edits and attempts of interactions; replicas, conversations, usage, escalations, ..."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NEW = ("replicas", "conversations", "usage", "escalations", "policies", "audit", "pauses")
_CLAIMS = (
    "channel",
    "owner",
    "epoch",
    "revision",
    "attempts",
    "posting",
    "placeholder_channel",
    "placeholder_id",
    "failure",
)


def upgrade() -> None:
    """Add the columns and the tables."""
    _claims()
    _replicas()
    _conversations()
    _usage()
    _escalations()
    _settings()
    _audit()


def downgrade() -> None:
    """Remove them, with all that they hold."""
    for table in reversed(_NEW):
        op.drop_table(table)
    for index in ("person", "channel", "created", "unposted"):
        op.drop_index(f"ix_interactions_{index}", "interactions")
    with op.batch_alter_table("interactions") as batch:
        for column in _CLAIMS:
            batch.drop_column(column)


def _claims() -> None:
    for column in (
        sa.Column("channel", sa.Text, nullable=False, server_default=""),
        sa.Column("owner", sa.String(64)),
        _count("epoch"),
        _count("revision"),
        _count("attempts"),
        sa.Column("posting", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("placeholder_channel", sa.Text),
        sa.Column("placeholder_id", sa.Text),
        sa.Column("failure", sa.Text, nullable=False, server_default=""),
    ):
        op.add_column("interactions", column)
    table = "interactions"
    op.create_index("ix_interactions_person", table, ["tenant", "person", "created_at"])
    op.create_index("ix_interactions_channel", table, ["tenant", "channel", "created_at"])
    op.create_index("ix_interactions_created", table, ["created_at"])
    op.create_index("ix_interactions_unposted", table, ["status", "posted_id"])


def _replicas() -> None:
    op.create_table(
        "replicas",
        sa.Column("id", sa.String(64), primary_key=True),
        _text("host"),
        _moment("started_at"),
        _moment("lease_until"),
    )


def _conversations() -> None:
    op.create_table(
        "conversations",
        _tenant(key=True),
        _text("thread", key=True),
        _text("channel"),
        sa.Column("private", sa.Boolean, nullable=False),
        _moment("started_at"),
        _moment("last_at"),
    )
    op.create_index("ix_conversations_last", "conversations", ["tenant", "last_at"])


def _usage() -> None:
    op.create_table(
        "usage",
        _number(),
        _tenant(),
        sa.Column("interaction_id", sa.String(36), nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        _moment("at"),
        _text("channel"),
        _text("person"),
        sa.Column("purpose", sa.String(32), nullable=False),
        _text("model"),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Float),
        sa.UniqueConstraint("interaction_id", "sequence"),
    )
    op.create_index("ix_usage_at", "usage", ["tenant", "at"])


def _escalations() -> None:
    reference = sa.ForeignKey("interactions.id", ondelete="CASCADE")
    op.create_table(
        "escalations",
        sa.Column("interaction_id", sa.String(36), reference, primary_key=True),
        _tenant(),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        _text("question"),
        sa.Column("owner", sa.Text),
        _moment("opened_at"),
        _moment("changed_at"),
    )
    op.create_index("ix_escalations_state", "escalations", ["tenant", "state", "opened_at"])


def _settings() -> None:
    op.create_table(
        "policies",
        _tenant(key=True),
        _text("channel", key=True),
        _text("policy"),
        _text("changed_by"),
        _moment("changed_at"),
    )
    op.create_table(
        "pauses", _tenant(key=True), _text("reason"), _text("paused_by"), _moment("since")
    )


def _audit() -> None:
    op.create_table(
        "audit",
        _number(),
        _tenant(),
        _moment("at"),
        _text("actor"),
        sa.Column("act", sa.String(32), nullable=False),
        _text("subject"),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("ix_audit_at", "audit", ["tenant", "at"])


def _number() -> sa.Column[int]:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("number", number, primary_key=True, autoincrement=True)


def _tenant(*, key: bool = False) -> sa.Column[str]:
    return sa.Column("tenant", sa.String(64), primary_key=key, nullable=False)


def _text(name: str, *, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=key, nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)
