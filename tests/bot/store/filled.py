"""Rows as an earlier day left them, and a look at what is left."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import create_engine, func, insert, make_url, select

from bot.store.database import Store
from bot.store.rows import Rows
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    InteractionRow,
    ProgressRow,
    Table,
    TurnRow,
    UsageRow,
)
from tests.builders import NOON, message

RowsOfTables = list[tuple[type[Table], dict[str, object]]]


async def add(store: Store, table: type[Table], **values: object) -> None:
    await add_all(store, [(table, values)])


async def add_all(store: Store, added: RowsOfTables) -> None:
    """Add rows in one transaction."""
    async with store.transactions.writing() as connection:
        for table, values in added:
            await connection.execute(insert(table).values(**values))


async def count(store: Store, table: type[Table]) -> int:
    async with store.transactions.reading() as connection:
        return int(await connection.scalar(select(func.count()).select_from(table)) or 0)


def interaction_rows(
    name: str,
    *,
    at: datetime = NOON,
    status: str = "done",
    posted: bool = True,
    thread: str = "web:default:anna:t1",
    **more: object,
) -> RowsOfTables:
    """One with a turn and a progress row; it ended when it came."""
    asked = message("Where is the VPN?", message_id=name)
    values: dict[str, object] = {
        "id": name,
        "tenant": "default",
        "thread": thread,
        "person": "anna",
        "status": status,
        "message": Rows().message(asked),
        "posted_channel": "anna" if posted else None,
        "posted_id": name if posted else None,
        "created_at": at,
        "finished_at": None if status == "working" else at,
        "channel": "web:anna",
        **more,
    }
    own: dict[str, object] = {"interaction_id": name, "tenant": "default"}
    return [
        (InteractionRow, values),
        (TurnRow, {**own, "thread": thread, "role": "user", "text": "Where is the VPN?"}),
        (ProgressRow, {**own, "sequence": 1, "stage": "received", "at": at}),
    ]


async def add_interaction(store: Store, name: str, **more: Any) -> None:  # noqa: ANN401 - as interaction_rows
    await add_all(store, interaction_rows(name, **more))


def escalation_rows(name: str, **more: object) -> RowsOfTables:
    """One that waits since noon."""
    values: dict[str, object] = {
        "interaction_id": name,
        "tenant": "default",
        "state": "open",
        "reason": "asked_for_human",
        "question": "a human please",
        "opened_at": NOON,
        "changed_at": NOON,
    }
    return [(EscalationRow, {**values, **more})]


async def add_escalation(store: Store, name: str, **more: object) -> None:
    await add_all(store, escalation_rows(name, **more))


def conversation_rows(thread: str, **more: object) -> RowsOfTables:
    """One that was begun at noon."""
    values: dict[str, object] = {
        "tenant": "default",
        "thread": thread,
        "channel": "web:anna",
        "private": True,
        "started_at": NOON,
        "last_at": NOON,
    }
    return [(ConversationRow, {**values, **more})]


async def add_conversation(store: Store, thread: str, **more: object) -> None:
    await add_all(store, conversation_rows(thread, **more))


async def add_usage(store: Store, sequence: int, **more: object) -> None:
    values: dict[str, object] = {
        "tenant": "default",
        "interaction_id": "i1",
        "sequence": sequence,
        "at": NOON,
        "channel": "web:anna",
        "person": "anna",
        "purpose": "answer",
        "model": "small",
        "input_tokens": 100,
        "output_tokens": 10,
        "cost_usd": 0.25,
    }
    await add(store, UsageRow, **{**values, **more})


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement outside of the store, and return what it gives."""
    engine = create_engine(make_url(url.replace("+aiosqlite", "")))
    with engine.begin() as connection:
        result = connection.exec_driver_sql(statement)
        found = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return found
