"""An aiosqlite connection that runs each statement in one trip to its thread.

aiosqlite makes a trip for each of a statement's four steps (open a cursor, execute, fetch, close),
and SQLAlchemy takes them all for every statement and a rollback for every read. A trip costs two
changes between threads, which compete for the interpreter with whatever is being computed. A
question takes some 16 statements, most of them of microseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import aiosqlite

_FETCHED_AT_A_TIME = 64


class _Unknown:
    """What is known of a statement that was not executed yet; read as from a cursor."""

    description = None
    rowcount = -1
    lastrowid = None


_UNKNOWN = _Unknown()


class StatementCursor(aiosqlite.Cursor):
    """Executes a statement, fetches all its rows and closes the cursor, in one trip.

    All rows of a result are in memory; SQLAlchemy fetches them at once anyway, but for streams,
    which are not supported.
    """

    _cursor: sqlite3.Cursor | _Unknown  # type: ignore[assignment]  # of which properties are read

    def __init__(self, connection: StatementConnection) -> None:
        self.iter_chunk_size = _FETCHED_AT_A_TIME
        self._conn: StatementConnection = connection
        self._rows: list[Any] = []

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> Self:
        await self._run("execute", sql, parameters or ())
        return self

    async def executemany(self, sql: str, parameters: Iterable[Iterable[Any]]) -> Self:
        await self._run("executemany", sql, parameters)
        return self

    async def fetchall(self) -> Sequence[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        self._rows = []

    async def _run(self, method: str, sql: str, parameters: Iterable[Any]) -> None:
        begins, joins = self._conn.takes_begin(), self._conn.takes_joining()
        earlier = () if joins else self._conn.takes_waiting()

        def whole_statement() -> None:
            for run in earlier:
                run()
            if begins:
                self._conn._conn.execute("BEGIN IMMEDIATE")  # noqa: SLF001 - as aiosqlite does
            # The closed cursor keeps its description, row count and last row id.
            cursor = self._cursor = self._conn._conn.cursor()  # noqa: SLF001
            try:
                getattr(cursor, method)(sql, parameters)
                self._rows = cursor.fetchall() if cursor.description else []
            finally:
                cursor.close()

        if joins:
            self._cursor = _UNKNOWN
            self._conn.join_next_trip(whole_statement)
        else:
            await self._conn._execute(whole_statement)  # noqa: SLF001


class StatementConnection(aiosqlite.Connection):
    """Gives cursors without a trip, and begins and ends transactions with as few as it can.

    A transaction begins in the trip of its first statement; one without statements never does.

    Args:
        path: The database file.
        options: Arguments of ``sqlite3.connect``.
    """

    def __init__(self, path: str, **options: Any) -> None:  # noqa: ANN401 - sqlite3 names them
        super().__init__(partial(sqlite3.connect, path, **options), _FETCHED_AT_A_TIME)
        self._unfinished = 0
        self._begins = self._joins = False
        self._waiting: list[Callable[[], None]] = []

    def begin_with_next(self) -> None:
        """Take the write lock right before the next statement, in its trip."""
        self._begins = True

    def takes_begin(self) -> bool:
        """Return whether a statement is to take the write lock first; only the next one is."""
        begins, self._begins = self._begins, False
        return begins

    def join_with_next(self) -> None:
        """Have the next statement executed in the trip of the one after it, or of the commit.

        Its result is never read, and its error is raised by that trip.
        """
        self._joins = True

    def takes_joining(self) -> bool:
        """Return whether a statement is to wait for the next trip; only the next one is."""
        joins, self._joins = self._joins, False
        return joins

    def join_next_trip(self, run: Callable[[], None]) -> None:
        self._waiting.append(run)

    def takes_waiting(self) -> Sequence[Callable[[], None]]:
        """Return what was to join the next trip, which is now made."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def cursor(self) -> StatementCursor:  # type: ignore[override] # its context manager is enough
        return StatementCursor(self)

    async def commit(self) -> None:
        waiting = self.takes_waiting()
        if not self.takes_begin():
            await self._execute(self._commit, waiting)

    def _commit(self, waiting: Sequence[Callable[[], None]]) -> None:
        for run in waiting:
            run()
        self._conn.commit()

    async def rollback(self) -> None:
        self._begins = self._joins = False
        self._waiting.clear()
        # A cancelled statement may begin a transaction yet: its trip was never counted as finished.
        if self._unfinished or self.in_transaction:
            await super().rollback()

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - aiosqlite's
        self._unfinished += 1
        try:
            result = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        except Exception:
            self._unfinished -= 1
            raise
        self._unfinished -= 1
        return result
