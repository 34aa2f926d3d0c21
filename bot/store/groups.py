"""Write what arrives together by one commit: new messages, and claims.

A commit waits for the disk, and on SQLite for its turn at the file. While one is under way the
next values gather, so that a burst costs few commits instead of one for each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import RecordRefused, RecordUnreadable, StoreUnavailable
from bot.domain.interactions import Interaction
from bot.domain.messages import Message
from bot.store import work_queries
from bot.store.connections import JOINED, Transactions, is_deadlock
from bot.store.queries import insert_new
from bot.store.question_files import QuestionFileRow, files_apart
from bot.store.rows import Rows, conversation_row

_MOST_IN_A_GROUP = 64
"""Bounds how long one transaction holds SQLite's file."""

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Value, Result]):
    value: Value
    written: asyncio.Future[Result]


class GroupedWrites(Generic[Value, Result]):
    """Writes the values that arrive while a group is being written as the next group.

    Args:
        write: Writes a group in one transaction; returns one result for each value, in their order.
    """

    def __init__(self, write: Callable[[Sequence[Value]], Awaitable[Sequence[Result]]]) -> None:
        self._write = write
        self._arrived: deque[_Waiting[Value, Result]] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, value: Value) -> Result:
        """Write a value with others; return its result after the commit of its group."""
        written: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._arrived.append(_Waiting(value, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_arrived())
        return await written

    async def _write_arrived(self) -> None:
        while self._arrived:
            size = min(len(self._arrived), _MOST_IN_A_GROUP)
            group = [self._arrived.popleft() for _ in range(size)]
            try:
                await self._write_group(group)
            except BaseException as error:
                # Whoever waits learns of it, also when the process is being stopped.
                _fail([*group, *self._arrived], error)
                self._arrived.clear()
                raise

    async def _write_group(self, group: Sequence[_Waiting[Value, Result]]) -> None:
        """Write a group; when the fault may be one value's, write each by itself."""
        try:
            results = await self._write([each.value for each in group])
        except Exception as error:  # noqa: BLE001 - it is raised to whoever waits
            if len(group) > 1 and _may_be_of_one(error):
                for each in group:
                    await self._write_group([each])
            else:
                _fail(group, error)
        else:
            for each, result in zip(group, results, strict=True):
                if not each.written.done():
                    each.written.set_result(result)


def _fail(group: Sequence[_Waiting[Value, Result]], error: BaseException) -> None:
    for each in group:
        if each.written.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            each.written.cancel()
        else:
            each.written.set_exception(error)


def _may_be_of_one(error: Exception) -> bool:
    """Return whether other values of the group may be written although this failed."""
    if not isinstance(error, StoreUnavailable):
        return True
    return isinstance(error, RecordRefused | RecordUnreadable) or is_deadlock(error)


@dataclass(frozen=True, slots=True)
class _Arrival:
    message: Message
    owner: str | None


class GroupedOpenings:
    """Records messages, those of a burst in groups."""

    def __init__(self, transactions: Transactions, rows: Rows) -> None:
        self._transactions = transactions
        self._rows = rows
        self._groups = GroupedWrites(self._opened)

    async def open(self, message: Message, owner: str | None) -> Interaction:
        """Record a message unless it is recorded already; return the recorded interaction."""
        return await self._groups.add(_Arrival(message, owner))

    async def _opened(self, group: Sequence[_Arrival]) -> Sequence[Interaction]:
        dialect = self._transactions.dialect
        apart = [
            files_apart(each.message) if each.message.attachments else (each.message, ())
            for each in group
        ]
        values = [
            self._rows.opened(message, each.owner)
            for each, (message, _) in zip(group, apart, strict=True)
        ]
        async with self._transactions.writing(urgent=True) as connection:
            inserted = await connection.execute(work_queries.insert_opened(dialect), values)
            new = {row.id: self._rows.interaction(row) for row in inserted}
            files = [
                row for message, rows in apart if message.interaction_id in new for row in rows
            ]
            if files:
                await connection.execute(insert_new(dialect, QuestionFileRow), files)
            spoken = {
                (row["tenant"], row["thread"]): row
                for row in (
                    conversation_row(each.message)
                    for each in group
                    if each.message.interaction_id in new
                )
            }
            if spoken:
                # In one order everywhere: two replicas that lock the same rows must not wait for
                # each other.
                ordered = [spoken[key] for key in sorted(spoken, key=str)]
                await connection.execute(
                    work_queries.upsert_conversation(dialect), ordered, execution_options=JOINED
                )
            return [await self._found(connection, each.message, new) for each in group]

    async def _found(
        self, connection: AsyncConnection, message: Message, new: dict[str, Interaction]
    ) -> Interaction:
        known = new.get(message.interaction_id)
        if known is None:
            known = await self._rows.locked(connection, message.interaction_id)
        return known
