"""Define ingestion's tables and access their database: a file, or the bot's server.

Every statement runs in a thread, so that none blocks the event loop. On PostgreSQL the tables share
a database with the bot's, so that each name has a prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from typing import cast as cast_type

from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    NullPool,
    String,
    Table,
    Text,
    cast,
    create_engine,
    event,
    false,
    func,
    inspect,
    literal_column,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from ingestion.errors import LedgerUnavailable

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
"""``beat`` is the owner's last heartbeat, in seconds since 1970 by the database's clock."""

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
"""The owners of leases on spaces; see ingestion.records.leases."""

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
"""When the schedule last started each pass, and how many before it failed in a row."""


FILE = "ingestion.sqlite"
HEAD = "0001"
"""The last revision of the tables; a test compares it with ingestion.records.migrations."""
_VERSION_TABLE = "ingestion_version"
_MIGRATION_LOCK = 0x66646C
"""Key (ASCII "fdl") of the advisory lock under which processes migrate; on SQLite the write lock
suffices."""
_BUSY_SECONDS = 10.0
_STILL_SECONDS = 10
"""Timeout of idle transactions: a process that hangs must not keep its locks."""
_SERVER: dict[str, object] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "frontdesk-ingestion",
}
_DRIVER = "postgresql+psycopg"
_SQLITE_NOW = literal_column("(julianday('now') - 2440587.5) * 86400.0", Float)

Result = TypeVar("Result")
# Julian days to Unix time: 2440587.5 is the Julian day of 1970-01-01.


class Database:
    """The database, opened and migrated at first use; ``close`` it at the end.

    Every failure is raised as LedgerUnavailable.
    """

    def __init__(self, url: str) -> None:
        self._url = make_url(_with_driver(url))
        self._engine = _engine(self._url)
        self._current = False
        self._migrating = Lock()

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @property
    def now(self) -> ColumnElement[float]:
        """Return the database's clock, in seconds since 1970: one clock for all replicas."""
        if self.dialect == "sqlite":
            return _SQLITE_NOW
        return cast(func.extract("epoch", func.clock_timestamp()), Float)

    def insert(self, table: Table) -> Insert:
        """Return an insert that supports ON CONFLICT."""
        # Both dialects have the same methods; only their types differ.
        made = sqlite.insert(table) if self.dialect == "sqlite" else postgresql.insert(table)
        return cast_type("Insert", made)

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """Run a function in one transaction in a thread. Raises LedgerUnavailable."""
        return await asyncio.to_thread(self.run_blocking, work)

    def run_blocking(self, work: Callable[[Connection], Result]) -> Result:
        """Do the same as ``run``, in this thread."""
        try:
            self._bring_up_to_date()
            with self._engine.begin() as connection:
                return work(connection)
        except (SQLAlchemyError, OSError) as error:
            raise LedgerUnavailable(_ledger_error(self._url, error)) from error

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        self._engine.dispose()

    def _bring_up_to_date(self) -> None:
        with self._migrating:
            file = _file(self._url)
            if self._current and (file is None or file.exists()):
                return
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            with self._engine.begin() as connection:
                if self.dialect == "postgresql":
                    connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
                revision = _revision(connection)
                if revision != HEAD:
                    _upgrade(connection, revision)
            self._current = True


def sqlite_in(data_dir: Path) -> Database:
    """Return the database file in a data directory."""
    return Database(f"sqlite+pysqlite:///{(data_dir / FILE).absolute()}")


def _with_driver(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{_DRIVER}{separator}{rest}" if scheme in {"postgres", "postgresql"} else url


def _engine(url: URL) -> Engine:
    # Statement parameters must not reach a log with an error.
    if url.get_backend_name() == "sqlite":
        arguments: dict[str, Any] = {"timeout": _BUSY_SECONDS}
        engine = create_engine(
            url, hide_parameters=True, connect_args=arguments, poolclass=NullPool
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_immediate)
        return engine
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args=dict(_SERVER),
        pool_pre_ping=True,
        pool_size=2,
        max_overflow=4,
    )
    event.listen(engine, "connect", _limit_idle_time)
    return engine


def _set_up_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    # What is deleted is overwritten: a person's name in a run must not stay in a free page.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    """Take SQLite's write lock at once, so that no transaction fails half-way."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _limit_idle_time(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET SESSION idle_in_transaction_session_timeout = '{_STILL_SECONDS}s'")
    cursor.close()
    connection.commit()


def _file(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    found = connection.scalar(text(f"SELECT revision FROM {_VERSION_TABLE}"))  # noqa: S608 - ours
    return None if found is None else str(found)


def _upgrade(connection: Connection, revision: str | None) -> None:
    # Alembic is slow to import, and most starts need no migration.
    from ingestion.records.migrations import upgrade

    try:
        upgrade(connection, revision, _VERSION_TABLE)
    except LookupError as error:
        raise LedgerUnavailable(
            f"Ingestion's records are of another version ({revision!r}), this one reads {HEAD!r} "
            "and older. Start the version of Frontdesk that wrote them, or a newer one."
        ) from error


def _ledger_error(url: URL, error: Exception) -> str:
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    file = _file(url)
    if file is not None:
        return (
            f"{str(file)!r} cannot be used ({said}). Check that this user may write to it and "
            "that the disk has room; if it is damaged, move it away."
        )
    # A password may also be in the query.
    where = url.set(query={}).render_as_string()
    return (
        f"The records of ingestion at {where!r} cannot be used ({said}). See that the server runs "
        "and takes DATABASE_URL's user, password and database."
    )
