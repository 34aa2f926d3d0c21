"""Migrate ingestion's own tables to the current revision.

Uses Alembic's operations without its command, which works through globals of its module: the bot
may be migrating its own tables in another thread at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text

_OLDER = ("runs", "synced", "sources")
"""Tables of ingestion.sqlite before their names had a prefix."""


def create_tables(op: Operations) -> None:
    """Rename the tables of an older file, create the others."""
    connection = op.get_bind()
    there = sa.inspect(connection).get_table_names() if connection.dialect.name == "sqlite" else []
    for name in _OLDER:
        if name in there:
            op.rename_table(name, f"ingestion_{name}")
        else:
            op.create_table(f"ingestion_{name}", *_columns(name), sqlite_autoincrement=True)
    op.create_table(
        "ingestion_leases",
        *_space(),
        sa.Column("owner", sa.String(300), nullable=False),
        sa.Column("beat", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    op.create_table(
        "ingestion_passes",
        *_space(),
        sa.Column("extent", sa.String(16), primary_key=True),
        sa.Column("begun", sa.Float, nullable=False),
        sa.Column("run", sa.String(64), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
    )


def _columns(name: str) -> tuple[sa.Column[object], ...]:
    if name != "runs":
        return (*_space(), sa.Column("body", sa.Text, nullable=False))
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return (
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("owner", sa.String(300), nullable=False),
        sa.Column("beat", sa.Float, nullable=False),
        sa.Column("cancel", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("body", sa.Text, nullable=False),
    )


def _space() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("space", sa.String(300), primary_key=True),
    )


STEPS: Mapping[str, Callable[[Operations], None]] = {"0001": create_tables}
"""From oldest to newest."""


def upgrade(connection: Connection, revision: str | None, version_table: str) -> None:
    """Apply the migrations after a revision, in the open transaction.

    Raises LookupError for an unknown revision.
    """
    names = list(STEPS)
    if revision is not None and revision not in STEPS:
        raise LookupError(revision)
    operations = Operations(MigrationContext.configure(connection))
    for name in names[names.index(revision) + 1 if revision else 0 :]:
        STEPS[name](operations)
    connection.execute(
        text(f"CREATE TABLE IF NOT EXISTS {version_table} (revision VARCHAR(32) NOT NULL)")
    )
    connection.execute(text(f"DELETE FROM {version_table}"))  # noqa: S608 - the name is ours
    connection.execute(
        text(f"INSERT INTO {version_table} VALUES (:revision)"),  # noqa: S608 - as above
        {"revision": names[-1]},
    )
