"""Opens the record: directory, schema, connections."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import Connection, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError

from bot.errors import StoreUnavailable
from bot.store.interactions import StoredInteractions
from bot.store.migrations import HEAD
from bot.store.transactions import Transactions, begin_immediate, set_up_sqlite

MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x66646B
"""Processes that start together take turns; on SQLite the write lock sees to that."""

DAMAGED = ("not a database", "malformed")
"""What SQLite says of a file that no permission or free space will mend."""


class Store:
    """The open record."""

    def __init__(self, transactions: Transactions) -> None:
        self.transactions = transactions
        self.interactions = StoredInteractions(transactions)

    async def close(self) -> None:
        await self.transactions.close()


def sqlite_url(data_dir: Path) -> str:
    """Return where the record is when no database server is configured."""
    return f"sqlite+aiosqlite:///{(data_dir / 'frontdesk.sqlite').absolute()}"


async def open_store(url: str) -> Store:
    """Bring the schema up to date and open the record. Raises StoreUnavailable."""
    try:
        await asyncio.to_thread(migrate, url)
    except (SQLAlchemyError, OSError) as error:
        raise StoreUnavailable(_trouble(url, error)) from error
    return Store(Transactions(url))


def migrate(url: str) -> None:
    """Apply the migrations; blocks, so it runs in a thread of its own."""
    blocking = make_url(url.replace("sqlite+aiosqlite", "sqlite+pysqlite", 1))
    engine = create_engine(blocking, hide_parameters=True)
    if blocking.get_backend_name() == "sqlite" and blocking.database:
        Path(blocking.database).parent.mkdir(parents=True, exist_ok=True)
        event.listen(engine, "connect", set_up_sqlite)
        event.listen(engine, "begin", begin_immediate)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            if _revision(connection) != HEAD:
                _upgrade(connection)
    finally:
        engine.dispose()


def _trouble(url: str, error: Exception) -> str:
    """Return what is wrong with a record, in one line."""
    cause = getattr(error, "orig", None) or error
    said = " ".join(str(cause).split())
    where = make_url(url).render_as_string()
    if any(sign in said for sign in DAMAGED):
        cure = "Move the file away and start again with an empty record, or put back a copy of it."
    else:
        cure = "Look at the data directory's permissions and free space, or at the database server."
    return f"The record at {where!r} can't be opened: {said}. {cure}"


def _revision(connection: Connection) -> str | None:
    """Return the schema's revision, None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
