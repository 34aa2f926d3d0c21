"""Interactions in the states in which work, a crash or a withdrawal leaves them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message
from bot.store.database import Store
from tests.bot.fakes import replied

OWNER = "an-earlier-server"
"""It holds no lease, so whatever it has is free for others."""


async def answered(
    store: Store, asked: Message, outcome: Outcome | str, *, owner: str = OWNER
) -> Interaction:
    """Record a message and its outcome, not posted yet."""
    opened = await store.work.open(asked, owner)
    given = replied(outcome) if isinstance(outcome, str) else outcome
    assert await store.work.close(opened, given, last=True)
    return await recorded(store, asked.interaction_id)


async def recorded(store: Store, interaction_id: InteractionId) -> Interaction:
    """Return an interaction that must be there."""
    kept = await store.interactions.get(interaction_id)
    assert kept is not None
    return kept


async def becomes(
    store: Store,
    interaction_id: InteractionId,
    wanted: Callable[[Interaction], object],
    *,
    seconds: float = 15.0,
    every: float = 0.01,
) -> Interaction:
    """Wait until an interaction is as it is wanted. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            kept = await store.interactions.get(interaction_id)
            if kept is not None and wanted(kept):
                return kept
            await asyncio.sleep(every)


async def posted(
    store: Store, interaction_id: InteractionId, *, every: float = 0.01
) -> Interaction:
    """Wait until a reply is where it belongs."""
    return await becomes(store, interaction_id, lambda kept: kept.posted is not None, every=every)


async def spoken(store: Store, before: Message, limit: int = 10) -> list[tuple[str, str]]:
    """Return what was said in a message's thread before it: questions with their answers."""
    exchanges = await store.interactions.history(before.thread, before, limit)
    return [
        (each.message.text, each.outcome.response.text)
        for each in exchanges
        if each.outcome is not None
    ]
