"""A durable inbox over a record, with an engine in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from bot.domain.ports import Admits, AnswersInquiries, Channel
from bot.domain.types import Platform
from bot.durable.inbox import DurableInbox
from bot.durable.joining import DurableEngine, Opened, Surroundings, durable_inbox
from bot.durable.work import Limits
from bot.store.store import Store
from tests.bot.fakes import EchoDesk, MemoryEngine, OpenAdmission

SOON = Limits(drain_seconds=0.1)


async def _nothing() -> None:
    """The record is open already, and nothing in it is old."""


def inbox_over(
    store: Store,
    *,
    desk: AnswersInquiries | None = None,
    admission: Admits | None = None,
    channels: Mapping[Platform, Channel] | None = None,
    limits: Limits = SOON,
    engine: DurableEngine | None = None,
    alone: bool = True,
) -> Opened:
    """Join an inbox as the application does; it is started by its keeper.

    One that is not ``alone`` shares the record with others, each with its engine's own name.
    """
    return durable_inbox(
        store,
        engine or MemoryEngine(),
        admission=admission or OpenAdmission(),
        desk=desk or EchoDesk(),
        channels=channels or {},
        limits=limits,
        surroundings=Surroundings(alone=alone, prepare=_nothing, clean=_nothing),
    )


@asynccontextmanager
async def running(opened: Opened) -> AsyncIterator[DurableInbox]:
    """Start an inbox and stop it."""
    await opened.keeper.start()
    try:
        yield opened.inbox
    finally:
        await opened.keeper.stop()
