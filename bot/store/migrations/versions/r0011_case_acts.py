"""Cases: whom one was given to, which reply a correction is about, and the second level."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_STEP_COLUMNS = ("assignee", "assignee_name", "about", "in_thread")


def upgrade() -> None:
    """Add the columns; steps that are there are none of these."""
    op.add_column("escalations", sa.Column("level", sa.Integer, nullable=False, server_default="1"))
    for name in ("assignee", "assignee_name"):
        op.add_column(
            "escalation_steps", sa.Column(name, sa.Text, nullable=False, server_default="")
        )
    op.add_column(
        "escalation_steps", sa.Column("about", sa.Integer, nullable=False, server_default="0")
    )
    op.add_column(
        "escalation_steps",
        sa.Column("in_thread", sa.Boolean, nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Remove them."""
    with op.batch_alter_table("escalation_steps") as batch:
        for name in _STEP_COLUMNS:
            batch.drop_column(name)
    with op.batch_alter_table("escalations") as batch:
        batch.drop_column("level")
