"""Rows of the record as they are written for arriving messages and for model calls."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert

from bot.domain.messages import Message
from bot.store.database import Store
from bot.store.tables import InteractionRow, UsageRow


async def write(store: Store, *asked: Message) -> None:
    """Record messages in this order, each at the moment it was received."""
    rows = [
        {
            "id": message.interaction_id,
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "channel": f"{message.thread.platform}:{message.thread.channel}",
            "person": message.author.id,
            "status": "working",
            "message": "{}",
            "created_at": message.received_at,
        }
        for message in asked
    ]
    async with store.transactions.writing() as connection:
        for row in rows:
            await connection.execute(insert(InteractionRow).values(**row))


async def spend(
    store: Store,
    number: int,
    at: datetime,
    tokens: tuple[int, int],
    usd: float | None = None,
    *,
    tenant: str = "default",
    person: str = "anna",
) -> None:
    """Record one model call."""
    row = {
        "tenant": tenant,
        "interaction_id": f"i{number}",
        "sequence": 1,
        "at": at,
        "channel": "slack:C1",
        "person": person,
        "purpose": "answer",
        "model": "m",
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cost_usd": usd,
    }
    async with store.transactions.writing() as connection:
        await connection.execute(insert(UsageRow).values(**row))
