"""Hand out database connections: reading without a transaction, writing in one.

On SQLite a process uses its file by turns, and waits at the end for the threads that read and
write it: they must end before the event loop does.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from threading import Thread
from typing import Any
from weakref import WeakSet

import aiosqlite
import structlog
from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from bot.domain.errors import RecordRefused, StoreUnavailable
from bot.domain.urls import IDLE_IN_TRANSACTION_SECONDS

_LONGEST_WAIT_SECONDS = 5.0
"""A connection that is still in use, against the rules, is not waited for longer."""

log = structlog.get_logger(__name__)


class ConnectionThreads:
    """Opens connections, each of which has a thread of its own, and waits for those threads.

    Whoever is cancelled half-way leaves a statement, or the opening of a file, to its thread. That
    tells the loop of its end, and breaks where the loop is closed by then.
    """

    def __init__(self) -> None:
        self._threads: WeakSet[Thread] = WeakSet()

    def opened(self, path: str, **options: Any) -> aiosqlite.Connection:  # noqa: ANN401 - SQLAlchemy names them
        """Return a connection that opens when it is awaited, as SQLAlchemy makes them."""
        connection = aiosqlite.connect(path, **options)
        thread = connection._thread  # noqa: SLF001 - SQLAlchemy does so: it has no other name
        thread.daemon = True
        self._threads.add(thread)
        return connection

    async def ended(self) -> None:
        """Wait until all threads have ended whose connections are closed."""
        begun = [thread for thread in self._threads if thread.ident is not None]
        left = await asyncio.to_thread(_join_until, begun, time.monotonic() + _LONGEST_WAIT_SECONDS)
        if left:
            log.warning("store.threads_left", threads=left)


def _join_until(threads: Sequence[Thread], until: float) -> int:
    """Wait for threads, and return how many still run then."""
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return sum(thread.is_alive() for thread in threads)


_MOST_URGENT_IN_A_ROW = 4
"""Then one of the others goes, so that work is done while messages pour in."""


class PriorityLock:
    """A lock with two lines.

    One operation on SQLite is dozens of rounds of the event loop. Operations side by side share
    the rounds and one interpreter, so all of them get slower and none gets done earlier; and who
    holds the write lock holds up everyone. One after the other, each takes its few milliseconds.
    """

    def __init__(self) -> None:
        self._taken = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._in_a_row = 0

    @asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Wait for the turn, and hold it in the block; it can't be taken twice by one task."""
        await self._wait(urgent=urgent)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, *, urgent: bool) -> None:
        if not self._taken:
            self._taken = True
            return
        given = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._urgent or self._others:
            given = self._next()
            if not given.done():
                given.set_result(None)
                return
        self._taken = False

    def _next(self) -> asyncio.Future[None]:
        patient = self._in_a_row < _MOST_URGENT_IN_A_ROW or not self._others
        if self._urgent and patient:
            self._in_a_row += 1
            return self._urgent.popleft()
        self._in_a_row = 0
        return self._others.popleft() if self._others else self._urgent.popleft()


PRAGMAS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_mode = WAL",
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = FULL",
)
"""FULL: what was acknowledged survives a loss of power."""

SERVER_LIMITS: Mapping[str, object] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "frontdesk",
}
"""Seconds, and milliseconds for tcp_user_timeout: a server that vanished without a word is given
up after about half a minute, not after the system's quarter of an hour."""


DAMAGE_CURE = "Move the file away and start again with an empty record, or put back a copy of it."


class Transactions:
    """Hands out connections; vendor errors come out as StoreUnavailable.

    On SQLite one operation of this process runs at a time (bot.store.connections), and a write
    transaction takes the lock when it begins, so that it is never refused half-way.
    """

    def __init__(self, url: str) -> None:
        self._threads = ConnectionThreads()
        self._engine = _connect(url, self._threads)
        self._brief = (
            _connect(url, self._threads, brief=True)
            if self.dialect == "sqlite"
            else self._engine.execution_options(brief=True)
        )
        self._readers = self._engine.execution_options(reading=True)
        self._turns = PriorityLock() if self.dialect == "sqlite" else None

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @asynccontextmanager
    async def reading(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        """Read without a transaction; what is ``urgent`` goes first, as in ``writing``."""
        try:
            async with self._turn(urgent=urgent), self._readers.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _store_unavailable(error) from error

    @asynccontextmanager
    async def writing(
        self, *, lasting: bool = True, urgent: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """Write in a transaction.

        What is not ``lasting`` survives the process, but not a loss of power: it is not waited
        for until it is on the disk. It is for what the next start would do again. What is
        ``urgent`` goes first: somebody waits for it and would give up.
        """
        engine = self._engine if lasting else self._brief
        try:
            async with self._turn(urgent=urgent), engine.begin() as connection:
                if not lasting and self.dialect == "postgresql":
                    await connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection
        except SQLAlchemyError as error:
            raise _store_unavailable(error) from error

    def _turn(self, *, urgent: bool) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._turns is None else self._turns.turn(urgent=urgent)

    async def scrub(self) -> None:
        """Overwrite what SQLite's log still holds of texts that were withdrawn."""
        if self.dialect != "sqlite":
            return
        async with self.reading() as connection:
            await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Close all connections; what was cancelled half-way has ended then, too."""
        await self._engine.dispose()
        await self._brief.dispose()
        await self._threads.ended()


def _connect(url: str, threads: ConnectionThreads, *, brief: bool = False) -> AsyncEngine:
    # A statement's parameters are people's words; an error must not carry them into a log.
    # A database server may have been restarted since a connection was last used: pre_ping.
    engine = create_async_engine(
        url,
        hide_parameters=True,
        connect_args=connect_arguments(url) or {"async_creator_fn": threads.opened},
        pool_pre_ping=url.startswith("postgresql"),
        execution_options={"brief": brief},
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", set_up_unsynced if brief else set_up_sqlite)
        event.listen(engine.sync_engine, "begin", begin_immediate)
    else:
        event.listen(engine.sync_engine, "connect", set_up_server)
    return engine


def connect_arguments(url: str) -> dict[str, object]:
    """Return what bounds the wait for a database server that is away; nothing for a file."""
    return dict(SERVER_LIMITS) if url.startswith("postgresql") else {}


def set_up_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Set the pragmas, and leave BEGIN to us: the driver would begin too late."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def set_up_server(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Have the server end a transaction whose process stands still.

    Not by a start-up option, which connection poolers refuse.
    """
    cursor = connection.cursor()
    milliseconds = round(IDLE_IN_TRANSACTION_SECONDS * 1000)
    cursor.execute(f"SET SESSION idle_in_transaction_session_timeout = {milliseconds}")
    cursor.close()
    connection.commit()


def set_up_unsynced(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Set the pragmas of a connection whose commits are not waited for until they are on disk.

    It has connections of its own: to switch one costs as much as a short transaction.
    """
    set_up_sqlite(connection, entry)
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def begin_immediate(connection: Connection) -> None:
    """Take SQLite's write lock at once; a reader needs no transaction at all."""
    if not connection.get_execution_options().get("reading"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def is_damaged(said: str) -> bool:
    """Tell from what SQLite says whether no permission or free space will mend a file."""
    return any(sign in said for sign in ("not a database", "malformed"))


def _store_unavailable(error: SQLAlchemyError) -> StoreUnavailable:
    if is_damaged(str(getattr(error, "orig", None) or "")):
        return StoreUnavailable(f"The record's file is damaged. Stop the server. {DAMAGE_CURE}")
    if isinstance(error, DataError | IntegrityError):
        return RecordRefused(
            f"The record does not take a value ({type(error).__name__}). Report it: it is a defect."
        )
    return StoreUnavailable(
        f"The record can't be read or written ({type(error).__name__}). Look at the disk's free "
        "space and at the permissions of the data directory, or at the database server."
    )
