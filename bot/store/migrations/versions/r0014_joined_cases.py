"""Cases: which one a case of the same question joined, the key that finds it, and who may be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; cases that are there stand for themselves, and none joins them."""
    op.add_column("escalations", sa.Column("joined_to", sa.Text, nullable=True))
    for name in ("join_key", "join_scope"):
        op.add_column(
            "escalations", sa.Column(name, sa.String(64), nullable=False, server_default="")
        )
    op.create_index("ix_escalations_joined", "escalations", ["joined_to"])
    op.create_index("ix_escalations_join_key", "escalations", ["tenant", "join_key"])


def downgrade() -> None:
    """Remove them; a case that had joined another stands for itself."""
    op.drop_index("ix_escalations_join_key", "escalations")
    op.drop_index("ix_escalations_joined", "escalations")
    with op.batch_alter_table("escalations") as batch:
        batch.drop_column("join_scope")
        batch.drop_column("join_key")
        batch.drop_column("joined_to")
