"""Record new messages in groups: those that arrive together are written by one commit.

A commit waits for the disk, and on SQLite for its turn at the file. While one is under way the
next messages gather, so that a burst costs few commits instead of one a message.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import RecordRefused, StoreUnavailable
from bot.domain.interactions import Interaction
from bot.domain.messages import Message
from bot.store import work_queries
from bot.store.connections import JOINED, Transactions, is_deadlock
from bot.store.queries import insert_new
from bot.store.question_files import QuestionFileRow, files_apart
from bot.store.rows import Rows, conversation_row

_MOST_IN_A_GROUP = 64
"""Bounds how long one transaction holds SQLite's file."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    message: Message
    owner: str | None
    kept: asyncio.Future[Interaction]


class GroupedOpenings:
    """Records messages that arrive while a group is being written as the next group.

    Each caller returns after the commit of its own message's group.
    """

    def __init__(self, transactions: Transactions, rows: Rows) -> None:
        self._transactions = transactions
        self._rows = rows
        self._arrived: deque[_Arrival] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def open(self, message: Message, owner: str | None) -> Interaction:
        """Record a message unless it is recorded already; return the recorded interaction."""
        kept: asyncio.Future[Interaction] = asyncio.get_running_loop().create_future()
        self._arrived.append(_Arrival(message, owner, kept))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await kept

    async def _write(self) -> None:
        while self._arrived:
            size = min(len(self._arrived), _MOST_IN_A_GROUP)
            group = [self._arrived.popleft() for _ in range(size)]
            try:
                await self._keep(group)
            except BaseException as error:
                # Whoever waits learns of it, also when the process is being stopped.
                self._fail([*group, *self._arrived], error)
                self._arrived.clear()
                raise

    async def _keep(self, group: Sequence[_Arrival]) -> None:
        """Write a group; when the fault may be one message's, write each by itself."""
        try:
            found = await self._opened(group)
        except StoreUnavailable as error:
            if len(group) > 1 and _may_be_of_one(error):
                for arrival in group:
                    await self._keep([arrival])
            else:
                self._fail(group, error)
        except Exception as error:  # noqa: BLE001 - it is raised to whoever waits
            self._fail(group, error)
        else:
            for arrival, interaction in zip(group, found, strict=True):
                if not arrival.kept.done():
                    arrival.kept.set_result(interaction)

    @staticmethod
    def _fail(group: Sequence[_Arrival], error: BaseException) -> None:
        for arrival in group:
            if arrival.kept.done():
                continue
            if isinstance(error, asyncio.CancelledError):
                arrival.kept.cancel()
            else:
                arrival.kept.set_exception(error)

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


def _may_be_of_one(error: StoreUnavailable) -> bool:
    """Return whether other messages of the group may be written although this failed."""
    return isinstance(error, RecordRefused) or is_deadlock(error)
