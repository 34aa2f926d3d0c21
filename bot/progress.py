"""What is being done to a message, shown while the work goes on."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

import structlog

from bot.errors import DeliveryFailed
from bot.ports import Channel, Interactions
from bot.types import Message, Stage

log = structlog.get_logger(__name__)


class Progress:
    """Implements bot.ports.ReportStage: writes stages behind the back of the one who reports.

    Every stage becomes a row, in order; the channel is shown the latest only, and never DONE: the
    reply itself says so. What goes wrong is logged. At the end of the ``async with`` block all is
    written, so that nothing can overwrite the reply that follows.
    """

    def __init__(
        self, message: Message, interactions: Interactions, channel: Channel | None
    ) -> None:
        self._message = message
        self._interactions = interactions
        self._channel = channel
        self._stages: deque[Stage] = deque()
        self._work: asyncio.Task[None] | None = None

    async def __call__(self, stage: Stage) -> None:
        self._stages.append(stage)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._write())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._work is None:
            return
        if error is not None:
            self._work.cancel()
        await asyncio.wait([self._work])

    async def _write(self) -> None:
        while self._stages:
            stage = self._stages.popleft()
            try:
                await self._interactions.stage(self._message.interaction_id, stage)
                if self._channel is not None and not self._stages and stage is not Stage.DONE:
                    await self._channel.progress(self._message, stage)
            except Exception as error:
                log.exception(
                    "progress.failed",
                    interaction_id=self._message.interaction_id,
                    stage=stage.value,
                    exc_info=not isinstance(error, DeliveryFailed),
                )
