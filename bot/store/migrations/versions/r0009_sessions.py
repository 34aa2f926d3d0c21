"""Web sessions of a person, and when their groups were last confirmed by the issuer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_COLUMNS = ("person_id", "confirmed_at", "asked_until", "refresh_token")


def upgrade() -> None:
    """Add the columns; who is signed in signs in once more, because old rows name nobody."""
    op.execute("DELETE FROM sessions")
    op.add_column("sessions", sa.Column("person_id", sa.Text, nullable=False, server_default=""))
    op.add_column("sessions", sa.Column("confirmed_at", sa.DateTime(timezone=True)))
    op.add_column("sessions", sa.Column("asked_until", sa.DateTime(timezone=True)))
    op.add_column(
        "sessions", sa.Column("refresh_token", sa.Text, nullable=False, server_default="")
    )
    op.create_index("ix_sessions_person", "sessions", ["tenant", "person_id"])


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_sessions_person", "sessions")
    for name in _COLUMNS:
        op.drop_column("sessions", name)
