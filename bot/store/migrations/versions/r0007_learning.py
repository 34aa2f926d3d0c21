"""What use teaches: jobs, gaps, answers of people, labels, corrections, digests, drafts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_NEW = (
    "jobs",
    "gaps",
    "gap_questions",
    "reviewed_answers",
    "labels",
    "gate_suspensions",
    "cited_quotes",
    "corrections",
    "digests",
    "webhook_events",
    "shadow_drafts",
)


def upgrade() -> None:
    """Add the tables, empty."""
    _jobs()
    _gaps()
    _gap_questions()
    _reviewed_answers()
    _labels()
    _gate_suspensions()
    _cited_quotes()
    _corrections()
    _digests()
    _webhook_events()
    _shadow_drafts()


def downgrade() -> None:
    """Remove them, with what was learned."""
    for table in reversed(_NEW):
        op.drop_table(table)


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(64)),
        sa.Column("held_until", sa.DateTime(timezone=True)),
        sa.Column("mark", sa.Text, nullable=False, server_default=""),
    )


def _gaps() -> None:
    op.create_table(
        "gaps",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("state_by", sa.Text, nullable=False, server_default=""),
        sa.Column("state_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_by", sa.Text, nullable=False, server_default="[]"),
        sa.Column("asked_again_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_gaps_state", "gaps", ["tenant", "state"])


def _gap_questions() -> None:
    op.create_table(
        "gap_questions",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("gap", sa.String(36), sa.ForeignKey("gaps.id", ondelete="SET NULL")),
        sa.Column("cause", sa.String(16), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("request", sa.String(36), nullable=False, server_default=""),
        sa.Column("public", sa.Boolean),
        sa.Column("embedder", sa.Text, nullable=False, server_default=""),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("passages", sa.Text, nullable=False, server_default="[]"),
        sa.Column("answered_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_gap_questions_asked", "gap_questions", ["tenant", "asked_at"])
    op.create_index("ix_gap_questions_gap", "gap_questions", ["gap", "asked_at"])


def _reviewed_answers() -> None:
    op.create_table(
        "reviewed_answers",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("variants", sa.Text, nullable=False, server_default="[]"),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("readers", sa.Text, nullable=False),
        sa.Column("spaces", sa.Text),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("owner_name", sa.Text, nullable=False, server_default=""),
        sa.Column("case", sa.String(36), sa.ForeignKey("interactions.id", ondelete="SET NULL")),
        sa.Column("valid_from", sa.DateTime(timezone=True)),
        sa.Column("valid_until", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.Text, nullable=False, server_default=""),
        sa.Column("version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("document", sa.Text, nullable=False, server_default=""),
        sa.Column("url", sa.Text, nullable=False, server_default=""),
    )
    op.create_index(
        "ix_reviewed_answers_state", "reviewed_answers", ["tenant", "state", "changed_at"]
    )


def _labels() -> None:
    op.create_table(
        "labels",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("origin", sa.String(16), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("truth", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("question", sa.Text, nullable=False, server_default=""),
        sa.Column("pages", sa.Text, nullable=False, server_default="[]"),
        sa.Column("groups", sa.Text, nullable=False, server_default="[]"),
        sa.Column("public", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False, server_default=""),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_labels_decided", "labels", ["tenant", "state", "decided_at"])
    op.create_index("ix_labels_state", "labels", ["tenant", "state", "created_at"])


def _gate_suspensions() -> None:
    op.create_table(
        "gate_suspensions",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("calibration", sa.Text, primary_key=True),
        sa.Column("certificate", sa.Text, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )


def _cited_quotes() -> None:
    op.create_table(
        "cited_quotes",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("chunk", sa.Text, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_cited_quotes_at", "cited_quotes", ["at"])
    op.create_index("ix_cited_quotes_page", "cited_quotes", ["tenant", "space", "page"])


def _corrections() -> None:
    op.create_table(
        "corrections",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("settled_at", sa.DateTime(timezone=True)),
        sa.Column("failure", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("ix_corrections_due", "corrections", ["due_at"])
    op.create_index("ix_corrections_page", "corrections", ["tenant", "space", "page", "found_at"])


def _digests() -> None:
    op.create_table(
        "digests",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("target", sa.Text, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("off", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("sent_week", sa.String(8), nullable=False, server_default=""),
        sa.Column("failure", sa.Text, nullable=False, server_default=""),
    )


def _webhook_events() -> None:
    op.create_table(
        "webhook_events",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("settled_at", sa.DateTime(timezone=True)),
        sa.Column("failure", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("ix_webhook_events_due", "webhook_events", ["due_at"])


def _shadow_drafts() -> None:
    op.create_table(
        "shadow_drafts",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False, server_default=""),
        sa.Column("reviewer", sa.Text, nullable=False, server_default=""),
        sa.Column("reviewed_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_shadow_drafts_channel", "shadow_drafts", ["tenant", "channel", "at"])
