"""Open a durable inbox over a record, and record interactions in any state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from bot.app.worker import BuiltInbox, InboxOptions, build_durable_inbox
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Platform
from bot.domain.ports import AnswersInquiries, Channel
from bot.inbox.accept import DurableInbox
from bot.inbox.ports import Admits, DurableEngine
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import EchoDesk, MemoryEngine, OpenAdmission, generic_outcome

SOON = WorkLimits(drain_seconds=0.1, visible_after_seconds=0.01)


async def _nothing() -> None:
    """The record is open already, and nothing in it is old."""


def inbox_over(
    store: Store,
    *,
    desk: AnswersInquiries | None = None,
    admission: Admits | None = None,
    channels: Mapping[Platform, Channel] | None = None,
    limits: WorkLimits = SOON,
    engine: DurableEngine | None = None,
    alone: bool = True,
    works: bool = True,
) -> BuiltInbox:
    """Join an inbox as the application does; it is started by its keeper.

    One that is not ``alone`` shares the record with others, each with its engine's own name. One
    that does not ``works`` only keeps messages.
    """
    return build_durable_inbox(
        store,
        engine or MemoryEngine(),
        admission=admission or OpenAdmission(),
        desk=desk or EchoDesk(),
        channels=channels or {},
        limits=limits,
        options=InboxOptions(alone=alone, prepare=_nothing, clean=_nothing, works=works),
    )


@asynccontextmanager
async def running(opened: BuiltInbox) -> AsyncIterator[DurableInbox]:
    """Start an inbox and stop it."""
    await opened.supervisor.start()
    try:
        yield opened.inbox
    finally:
        await opened.supervisor.stop()


OWNER = "an-earlier-server"
"""It holds no lease, so whatever it has is free for others."""


async def record_answer(
    store: Store, asked: Message, outcome: Outcome | str, *, owner: str = OWNER
) -> Interaction:
    """Record a message and its outcome, not posted yet."""
    opened = await store.work.open(asked, owner)
    given = generic_outcome(outcome) if isinstance(outcome, str) else outcome
    assert await store.work.close(opened, given, last=True)
    return await stored_interaction(store, asked.interaction_id)


async def stored_interaction(store: Store, interaction_id: InteractionId) -> Interaction:
    """Return an interaction that must be there."""
    kept = await store.interactions.get(interaction_id)
    assert kept is not None
    return kept


async def wait_for_interaction(
    store: Store,
    interaction_id: InteractionId,
    wanted: Callable[[Interaction], object],
    *,
    seconds: float = 60.0,
    every: float = 0.01,
) -> Interaction:
    """Wait until an interaction is as it is wanted. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            kept = await store.interactions.get(interaction_id)
            if kept is not None and wanted(kept):
                return kept
            await asyncio.sleep(every)


async def wait_until_posted(
    store: Store, interaction_id: InteractionId, *, every: float = 0.01
) -> Interaction:
    """Wait until a reply is where it belongs."""
    return await wait_for_interaction(
        store, interaction_id, lambda kept: kept.posted is not None, every=every
    )


async def thread_exchanges(store: Store, before: Message, limit: int = 10) -> list[tuple[str, str]]:
    """Return what was said in a message's thread before it: questions with their answers."""
    exchanges = await store.interactions.history(before.thread, before, limit)
    return [
        (each.message.text, each.outcome.response.text)
        for each in exchanges
        if each.outcome is not None
    ]
