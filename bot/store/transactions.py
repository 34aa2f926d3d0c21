"""Connections to the record's database: reading without a transaction, writing in one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from bot.errors import StoreUnavailable

PRAGMAS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
)
"""FULL: what was acknowledged survives a loss of power."""


class Transactions:
    """Hands out connections; vendor errors come out as StoreUnavailable.

    On SQLite writers of this process queue up in order instead of polling for the lock, and a
    write transaction takes the lock when it begins, so that it is never refused half-way.
    """

    def __init__(self, url: str) -> None:
        self._engine = _connect(url)
        self._readers = self._engine.execution_options(reading=True)
        self._turn: AbstractAsyncContextManager[object] = (
            asyncio.Lock() if self.dialect == "sqlite" else nullcontext()
        )

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._readers.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _unavailable(error) from error

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._turn, self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _unavailable(error) from error

    async def close(self) -> None:
        await self._engine.dispose()


def _connect(url: str) -> AsyncEngine:
    # A statement's parameters are people's words; an error must not carry them into a log.
    engine = create_async_engine(url, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", set_up_sqlite)
        event.listen(engine.sync_engine, "begin", begin_immediate)
    return engine


def set_up_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Set the pragmas, and leave BEGIN to us: the driver would begin too late."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def begin_immediate(connection: Connection) -> None:
    """Take SQLite's write lock at once; a reader needs no transaction at all."""
    if not connection.get_execution_options().get("reading"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _unavailable(error: SQLAlchemyError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The record can't be read or written ({type(error).__name__}). Look at the disk's free "
        "space and at the permissions of the data directory, or at the database server."
    )
