"""How sure an answer was, to be counted by; what was recorded before has no level."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_INDEX = "ix_interactions_searched"
_BEFORE = (
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
)


def upgrade() -> None:
    """Add the column, also to the index that figures are read from."""
    level = sa.Column("confidence_level", sa.String(8), nullable=False, server_default="")
    op.add_column("interactions", level)
    op.drop_index(_INDEX, "interactions")
    op.create_index(_INDEX, "interactions", [*_BEFORE, "confidence_level"])


def downgrade() -> None:
    """Remove it."""
    op.drop_index(_INDEX, "interactions")
    with op.batch_alter_table("interactions") as batch:
        batch.drop_column("confidence_level")
    op.create_index(_INDEX, "interactions", list(_BEFORE))
