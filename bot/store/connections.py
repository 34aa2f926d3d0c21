"""Database connections: reads without an explicit transaction, writes in one.

On SQLite, operations of a process run one at a time, and closing waits for the connections'
threads, which must end before the event loop does.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from threading import Thread
from typing import Any, TypeVar, TypeVarTuple
from weakref import WeakSet

import aiosqlite
import structlog
from sqlalchemy import Connection, Row, Select, UpdateBase, event
from sqlalchemy.engine.interfaces import DBAPIConnection, ExecutionContext
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from bot.domain.errors import RecordRefused, StoreUnavailable
from bot.store.postgres_driver import connect_arguments, set_up_pool
from bot.store.sqlite_driver import StatementConnection

Columns = TypeVarTuple("Columns")
Value = TypeVar("Value")

_LONGEST_WAIT_SECONDS = 5.0
"""The longest wait for connections that are, wrongly, still in use when closing."""

JOINED: Mapping[str, object] = {"joined": True}
"""Execution options of a statement whose result nobody reads: on SQLite it is executed in one trip
with the next statement or with the commit, which then raises its error."""

_DEADLOCK = "40P01"
"""PostgreSQL's code for transactions that waited for each other, one of which it ended."""

_MOST_TRIES = 20
"""How often a change is tried. Each failed try means that another change succeeded, so that two
are usually enough."""

Values = Mapping[str, object] | None
"""What the parameters of a statement are, by name; None for a statement without any."""

log = structlog.get_logger(__name__)


class Overtaken(StoreUnavailable):
    """What a change began with was changed by others before it was locked."""


def is_deadlock(error: StoreUnavailable) -> bool:
    """Return whether PostgreSQL ended the transaction to resolve a deadlock."""
    cause = getattr(error.__cause__, "orig", None)
    return getattr(cause, "sqlstate", "") == _DEADLOCK


class ConnectionThreads:
    """Opens aiosqlite connections and waits for their threads (one per connection).

    A cancelled task leaves its statement, or the opening of the file, running in the thread. The
    thread then reports to the event loop, which fails if the loop is closed by then.
    """

    def __init__(self) -> None:
        self._threads: WeakSet[Thread] = WeakSet()

    def opened(self, path: str, **options: Any) -> aiosqlite.Connection:  # noqa: ANN401 - SQLAlchemy names them
        """Return a connection that opens when awaited, as SQLAlchemy's ``async_creator_fn``."""
        connection = StatementConnection(path, **options)
        thread = connection._thread  # noqa: SLF001 - SQLAlchemy does so: it has no other name
        thread.daemon = True
        self._threads.add(thread)
        return connection

    async def ended(self) -> None:
        """Wait until the threads of closed connections have ended; log those left."""
        begun = [thread for thread in self._threads if thread.ident is not None]
        left = await asyncio.to_thread(_join_until, begun, time.monotonic() + _LONGEST_WAIT_SECONDS)
        if left:
            log.warning("store.threads_left", threads=left)


def _join_until(threads: Sequence[Thread], until: float) -> int:
    """Join threads until a monotonic time; return how many are still alive."""
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return sum(thread.is_alive() for thread in threads)


_MOST_URGENT_IN_A_ROW = 4
"""After this many urgent turns one other goes, so that a burst of messages starves no work."""


class PriorityLock:
    """An asyncio lock with two queues, urgent and other.

    One SQLite operation takes dozens of event-loop iterations. Concurrent ones share iterations
    and interpreter, so that all get slower and none finishes earlier, and the holder of the write
    lock delays everyone. In sequence each takes a few milliseconds.
    """

    def __init__(self) -> None:
        self._taken = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._in_a_row = 0

    @asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold the lock in the block; not reentrant."""
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
            # The lock was handed over just before the cancellation.
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
"""``synchronous = FULL``: committed data survives a loss of power."""

DAMAGE_CURE = "Move the file away and start again with an empty record, or put back a copy of it."


class Transactions:
    """Opens connections for reads and writes; raises StoreUnavailable for database errors.

    On SQLite one operation of this process runs at a time (PriorityLock), and a write transaction
    takes the write lock when it begins, so that it never fails on the lock later.
    """

    def __init__(self, url: str) -> None:
        self._threads = ConnectionThreads()
        self._engine = _connect(url, self._threads)
        self._brief = (
            _connect(url, self._threads, brief=True)
            if self.dialect == "sqlite"
            else self._engine.execution_options(brief=True)
        )
        self._readers = _reading_engine(self._engine)
        self._turns = PriorityLock() if self.dialect == "sqlite" else None

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @asynccontextmanager
    async def reading(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        """Open a connection for reads, without BEGIN on SQLite; ``urgent`` as in ``writing``."""
        try:
            async with self._turn(urgent=urgent), self._readers.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _store_unavailable(error) from error

    @asynccontextmanager
    async def writing(
        self, *, lasting: bool = True, urgent: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """Open a connection in a transaction that is committed at the end of the block.

        Args:
            lasting: Wait at the commit until the data is on disk. False survives a crash of the
                process but not a loss of power; for writes that the next start would repeat.
            urgent: Go before other operations on SQLite, because a caller waits and may time out.
        """
        engine = self._engine if lasting else self._brief
        try:
            async with self._turn(urgent=urgent), engine.begin() as connection:
                if not lasting and self.dialect == "postgresql":
                    await connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection
        except SQLAlchemyError as error:
            raise _store_unavailable(error) from error

    async def apply(
        self, change: Callable[[AsyncConnection], Awaitable[Value]], *, urgent: bool = False
    ) -> Value:
        """Make a change in a transaction, anew if it was overtaken or ended for a deadlock.

        Nothing is left of the earlier tries: ``change`` does nothing outside the record.
        """
        for tried in range(1, _MOST_TRIES + 1):
            try:
                async with self.writing(urgent=urgent) as connection:
                    return await change(connection)
            except StoreUnavailable as error:
                if tried == _MOST_TRIES or not (isinstance(error, Overtaken) or is_deadlock(error)):
                    raise
                log.info("store.change_repeated", tried=tried, why=type(error).__name__)
        raise AssertionError

    async def rows(
        self, query: Select[*Columns], values: Values = None, *, urgent: bool = False
    ) -> Sequence[Row[*Columns]]:
        """Return all rows of a query."""
        async with self.reading(urgent=urgent) as connection:
            return (await connection.execute(query, values)).all()

    async def first(
        self, query: Select[*Columns], values: Values = None, *, urgent: bool = False
    ) -> Row[*Columns] | None:
        """Return the first row of a query; None if there is none."""
        async with self.reading(urgent=urgent) as connection:
            return (await connection.execute(query, values)).first()

    async def scalars(self, query: Select[Value], values: Values = None) -> Sequence[Value]:
        """Return the values of a query for one column."""
        async with self.reading() as connection:
            return (await connection.scalars(query, values)).all()

    async def scalar(
        self, query: Select[Value], values: Values = None, *, urgent: bool = False
    ) -> Value | None:
        """Return the first value of a query for one column; None if there is no row."""
        async with self.reading(urgent=urgent) as connection:
            return await connection.scalar(query, values)

    async def execute(self, statement: UpdateBase, *, lasting: bool = True) -> int:
        """Execute one statement in a transaction; return how many rows it changed."""
        async with self.writing(lasting=lasting) as connection:
            return (await connection.execute(statement)).rowcount

    def _turn(self, *, urgent: bool) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._turns is None else self._turns.turn(urgent=urgent)

    async def scrub(self) -> None:
        """Truncate SQLite's write-ahead log, which may still contain withdrawn texts."""
        if self.dialect != "sqlite":
            return
        async with self.reading() as connection:
            await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Close all connections, and wait for their threads, cancelled operations included."""
        await self._engine.dispose()
        await self._brief.dispose()
        await self._threads.ended()


def _connect(url: str, threads: ConnectionThreads, *, brief: bool = False) -> AsyncEngine:
    # hide_parameters: parameters contain users' texts, which errors must not carry into a log.
    engine = create_async_engine(
        url,
        hide_parameters=True,
        connect_args=connect_arguments(url) or {"async_creator_fn": threads.opened},
        execution_options={"brief": brief},
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", set_up_unsynced if brief else set_up_sqlite)
        event.listen(engine.sync_engine, "begin", begin_immediate)
        event.listen(engine.sync_engine, "before_cursor_execute", _join_with_next)
    else:
        set_up_pool(engine.sync_engine)
    return engine


def _reading_engine(engine: AsyncEngine) -> AsyncEngine:
    """Return an engine whose statements stand alone: on neither database a transaction begins.

    On PostgreSQL that saves two of three trips to the server. What one statement reads is one
    state of the record in any case, and at its isolation level (READ COMMITTED) no more is.
    """
    alone = {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else {}
    return engine.execution_options(reading=True, **alone)


def set_up_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Set the pragmas, and disable the driver's implicit BEGIN, which would come too late."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def set_up_unsynced(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Set the pragmas of a connection whose commits don't wait for the disk.

    A separate engine uses such connections, because switching one costs as much as a short
    transaction.
    """
    set_up_sqlite(connection, entry)
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def begin_immediate(connection: Connection) -> None:
    """Take SQLite's write lock when a transaction begins; reads begin none."""
    if connection.get_execution_options().get("reading"):
        return
    driver = connection.connection.driver_connection
    if isinstance(driver, StatementConnection):
        driver.begin_with_next()
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _join_with_next(
    connection: Connection,
    _cursor: object,
    _statement: str,
    _parameters: object,
    context: ExecutionContext | None,
    _executemany: bool,  # noqa: FBT001
) -> None:
    driver = connection.connection.driver_connection
    joined = context is not None and context.execution_options.get("joined")
    if joined and isinstance(driver, StatementConnection):
        driver.join_with_next()


def is_damaged(said: str) -> bool:
    """Return whether an error message of SQLite means that the file is corrupt."""
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
