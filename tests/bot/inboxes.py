"""A durable inbox over a record, with an engine in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from bot.app.worker import BuiltInbox, DurableEngine, InboxOptions, build_durable_inbox
from bot.domain.messages import Platform
from bot.domain.ports import Admits, AnswersInquiries, Channel
from bot.inbox.accept import DurableInbox
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.bot.fakes import EchoDesk, MemoryEngine, OpenAdmission

SOON = WorkLimits(drain_seconds=0.1)


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
) -> BuiltInbox:
    """Join an inbox as the application does; it is started by its keeper.

    One that is not ``alone`` shares the record with others, each with its engine's own name.
    """
    return build_durable_inbox(
        store,
        engine or MemoryEngine(),
        admission=admission or OpenAdmission(),
        desk=desk or EchoDesk(),
        channels=channels or {},
        limits=limits,
        surroundings=InboxOptions(alone=alone, prepare=_nothing, clean=_nothing),
    )


@asynccontextmanager
async def running(opened: BuiltInbox) -> AsyncIterator[DurableInbox]:
    """Start an inbox and stop it."""
    await opened.keeper.start()
    try:
        yield opened.inbox
    finally:
        await opened.keeper.stop()
