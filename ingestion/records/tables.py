"""The tables; on PostgreSQL they are beside the bot's, so that each name says whose it is."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

METADATA = MetaData()

_NUMBER = BigInteger().with_variant(Integer, "sqlite")

RUNS = Table(
    "ingestion_runs",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("tenant", String(64), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("owner", String(300), nullable=False),
    Column("beat", Float, nullable=False),
    Column("cancel", Boolean, nullable=False, server_default=false()),
    Column("body", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""``beat`` is when the owner last wrote, in seconds since 1970 by the database's clock."""

SYNCED = Table(
    "ingestion_synced",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("space", String(300), primary_key=True),
    Column("body", Text, nullable=False),
)

SOURCES = Table(
    "ingestion_sources",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("space", String(300), primary_key=True),
    Column("body", Text, nullable=False),
)

LEASES = Table(
    "ingestion_leases",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("space", String(300), primary_key=True),
    Column("owner", String(300), nullable=False),
    Column("beat", Float, nullable=False),
    Column("expires", Float, nullable=False),
)
"""Who works on a space; see ingestion.records.leases."""

PASSES = Table(
    "ingestion_passes",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("space", String(300), primary_key=True),
    Column("extent", String(16), primary_key=True),
    Column("begun", Float, nullable=False),
    Column("run", String(64), nullable=False),
    Column("failures", Integer, nullable=False),
)
"""When a pass was last begun by the schedule, and how many before it failed in a row."""
