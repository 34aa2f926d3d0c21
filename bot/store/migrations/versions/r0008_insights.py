"""Answers by people, corrections, digests, webhook and shadow mode as they are used; insights."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bot.store.migrations.versions import r0007_learning

revision = "0008"
down_revision = "0007"

_MADE_ANEW = (
    "reviewed_answers",
    "cited_quotes",
    "corrections",
    "digests",
    "webhook_events",
    "shadow_drafts",
)
_NEW = ("question_facts", "cited_pages")


def upgrade() -> None:
    """Make tables anew that nothing had written to, and add those of insights."""
    for table in _MADE_ANEW:
        op.drop_table(table)
    _reviewed_answers()
    _cited_quotes()
    _corrections()
    _digests()
    _webhook_events()
    _shadow_drafts()
    _question_facts()
    _cited_pages()


def downgrade() -> None:
    """Make them as they were, empty."""
    for table in (*_NEW, *_MADE_ANEW):
        op.drop_table(table)
    for table in _MADE_ANEW:
        getattr(r0007_learning, f"_{table}")()


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
        sa.Column("chosen", sa.Text, nullable=False, server_default="[]"),
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
        sa.Column("written_by", sa.Text, nullable=False, server_default=""),
        sa.Column("version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("live_at", sa.DateTime(timezone=True)),
        sa.Column("complaints", sa.Text, nullable=False, server_default="[]"),
        sa.Column("document", sa.Text, nullable=False, server_default=""),
        sa.Column("url", sa.Text, nullable=False, server_default=""),
    )
    op.create_index(
        "ix_reviewed_answers_state", "reviewed_answers", ["tenant", "state", "changed_at"]
    )
    op.create_index("ix_reviewed_answers_case", "reviewed_answers", ["case"], unique=True)


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
        sa.Column("seen", sa.Text, nullable=False, server_default=""),
        sa.Column("state", sa.String(8), nullable=False, server_default="there"),
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
        sa.Column("person_id", sa.Text, nullable=False, server_default=""),
        sa.Column("email", sa.Text, nullable=False, server_default=""),
        sa.Column("owner", sa.Text, nullable=False, server_default=""),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("off", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("tried_week", sa.String(8), nullable=False, server_default=""),
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
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("owner_name", sa.Text, nullable=False, server_default=""),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
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
        sa.Column("drafted", sa.Boolean, nullable=False),
        sa.Column("space", sa.Text, nullable=False, server_default=""),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("failure", sa.Text, nullable=False, server_default=""),
        sa.Column("verdict", sa.String(16), nullable=False, server_default=""),
        sa.Column("reviewer", sa.Text, nullable=False, server_default=""),
        sa.Column("reviewed_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_shadow_drafts_due", "shadow_drafts", ["due_at"])
    op.create_index("ix_shadow_drafts_channel", "shadow_drafts", ["tenant", "channel", "at"])


def _question_facts() -> None:
    op.create_table(
        "question_facts",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("by_bot", sa.Boolean, nullable=False),
        sa.Column("space", sa.Text, nullable=False),
        sa.Column("followed_at", sa.DateTime(timezone=True)),
        sqlite_with_rowid=False,
    )


def _cited_pages() -> None:
    op.create_table(
        "cited_pages",
        sa.Column(
            "interaction_id",
            sa.String(36),
            sa.ForeignKey("interactions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("space", sa.Text, primary_key=True),
        sa.Column("page", sa.Text, primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_cited_pages_asked", "cited_pages", ["tenant", "asked_at", "space", "page"])
