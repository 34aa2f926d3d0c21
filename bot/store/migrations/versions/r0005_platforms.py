"""What adapters remember for all processes, and how many pages are read for an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table of notes, and the number of pages to a stage."""
    op.create_table(
        "notes",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False, server_default=""),
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            nullable=True,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_notes_interaction", "notes", ["interaction_id"])
    op.add_column(
        "progress", sa.Column("pages", sa.Integer, nullable=False, server_default=sa.text("0"))
    )


def downgrade() -> None:
    """Remove them."""
    with op.batch_alter_table("progress") as batch:
        batch.drop_column("pages")
    op.drop_index("ix_notes_interaction", "notes")
    op.drop_table("notes")
