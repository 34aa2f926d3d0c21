"""The inbox of a server with FRONTDESK_ROLE=accept: it stores messages, and others answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from bot.domain.health import ComponentStatus
from bot.domain.messages import InteractionId
from bot.inbox.accept import DurableInbox
from bot.inbox.ports import RunWork
from bot.observability.logs import LastingTrouble

log = structlog.get_logger(__name__)

_ROUND_SECONDS = 3.0
_STOPPED = "This server is stopping. Send it again in a minute."
_NOBODY_ANSWERS = "messages are stored, but no server answers them."
_CURE = "Start one on the same database with FRONTDESK_ROLE=work."


class AcceptOnlyEngine:
    """Begins no work: servers with FRONTDESK_ROLE=work find it in the record.

    Implements `DurableEngine`.

    Args:
        forget_work: Deletes the engine's records of ended work.
    """

    executor = "elsewhere"

    def __init__(self, forget_work: Callable[[Sequence[InteractionId]], Awaitable[None]]) -> None:
        self._forget_work = forget_work

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:  # noqa: ARG002
        return

    async def start(self, run: RunWork) -> None:  # noqa: ARG002
        return

    async def abandon(self, executors: Sequence[str]) -> frozenset[InteractionId]:  # noqa: ARG002
        return frozenset()

    async def forget(self) -> None:
        return

    async def forget_work(self, ids: Sequence[InteractionId]) -> None:
        await self._forget_work(ids)

    async def stop(self) -> None:
        return


class AcceptOnlySupervisor:
    """Opens an inbox that only stores messages, and watches who answers. Implements `Supervises`.

    Args:
        working: Returns the processes that answer. Raises StoreUnavailable.
        unanswered: Returns how many messages have no outcome. Raises StoreUnavailable.
        prepare: Migrates the store's schema. Raises StoreUnavailable.
    """

    def __init__(
        self,
        *,
        inbox: DurableInbox,
        working: Callable[[], Awaitable[Sequence[str]]],
        unanswered: Callable[[], Awaitable[int]],
        prepare: Callable[[], Awaitable[None]],
    ) -> None:
        self._inbox = inbox
        self._living = working
        self._unanswered = unanswered
        self._prepare = prepare
        self._prepared = False
        self._working = 0
        self._trouble = LastingTrouble("inbox", "not started yet")
        self._going_round: asyncio.Task[None] | None = None

    def is_ready(self) -> bool:
        """Return whether the record may be read and written."""
        return not self._trouble.text

    def part(self) -> ComponentStatus:
        """Return the inbox's status: limited while nobody answers what is kept."""
        if self._trouble.text:
            return ComponentStatus("inbox", "failed", self._trouble.text)
        if not self._working:
            return ComponentStatus("inbox", "limited", _NOBODY_ANSWERS, _CURE)
        servers = "1 server answers" if self._working == 1 else f"{self._working} servers answer"
        return ComponentStatus("inbox", "ready", f"messages are stored here, {servers} them")

    async def start(self) -> None:
        """Open the inbox, or as soon as the record can be used."""
        self._trouble.text = ""
        await self._look()
        self._going_round = asyncio.create_task(self._go_round())

    async def drain(self) -> None:
        """Accept no more, and finish storing."""
        self._inbox.close(_STOPPED)
        if self._going_round is not None:
            self._going_round.cancel()
            with suppress(asyncio.CancelledError):
                await self._going_round
        await self._inbox.drain()

    async def stop(self) -> None:
        """Accept no more, and finish storing."""
        await self.drain()

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(_ROUND_SECONDS)
            await self._look()

    async def _look(self) -> None:
        try:
            await self._look_round()
        except Exception as error:  # noqa: BLE001 - noted; the next round tries again
            self._trouble.note(error)
        else:
            self._trouble.note(None)

    async def _look_round(self) -> None:
        """Raises StoreUnavailable."""
        if not self._prepared:
            await self._prepare()
            self._prepared = True
            self._inbox.open()
        self._working = len(await self._living())
        self._inbox.note_unanswered(await self._unanswered())
