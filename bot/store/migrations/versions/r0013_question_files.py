"""Files that came with a question in the web chat, until it is answered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0011"  # There never was a 0012.


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "question_files",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Remove it, with the files of questions that have no answer yet."""
    op.drop_table("question_files")
