"""Answers that are saved for later askers of the same question."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "saved_answers",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_saved_answers_interaction", "saved_answers", ["interaction_id"])
    op.create_index("ix_saved_answers_answered", "saved_answers", ["answered_at"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("saved_answers")
