"""Create the tables of runs, sync states, folders, leases and passes; keep data of older files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

_OLDER = ("runs", "synced", "sources")
"""Tables of ingestion.sqlite before their names had a prefix."""


def upgrade(op: Operations) -> None:
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
