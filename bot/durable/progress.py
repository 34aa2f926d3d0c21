"""What is being done to a message, shown while the work goes on."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import structlog

from bot.domain.errors import BotError, ClaimLost, DeliveryFailed
from bot.domain.ports import Channel, OpensPlaceholders, Worklist
from bot.domain.types import Activity, Interaction, PostedRef, Stage

log = structlog.get_logger(__name__)

_LONGEST_WRITE_SECONDS = 20.0
_STOPPED_WRITE_SECONDS = 2.0
_GAP_SECONDS = 0.1
"""Nobody reads faster, and each write delays the answer itself."""


class Progress:
    """Implements bot.domain.ports.ReportStage: writes stages behind the back of the one who reports.

    Every stage becomes a row, in order, those that come close together in one transaction; the
    channel is shown the latest only, and never DONE: the reply itself says so. A channel that
    opens placeholders gets one first, noted before and after it is posted. What goes wrong is
    logged, as an error unless a platform only asks to wait, or the question is no longer ours. At
    the end of the ``async with`` block all is written, so that nothing can overwrite the reply
    that follows.
    """

    def __init__(self, interaction: Interaction, work: Worklist, channel: Channel | None) -> None:
        self._interaction = interaction
        self._id = interaction.id
        self._message = interaction.message
        self._placeholder = interaction.placeholder
        self._work = work
        self._channel = channel
        self._activities: deque[Activity] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def placeholder(self) -> PostedRef | None:
        """Where the placeholder is, if one was opened."""
        return self._placeholder

    async def __call__(self, stage: Stage, pages: int = 0) -> None:
        self._activities.append(Activity(stage, pages))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        if self._writing is None:
            return
        if error is not None:
            # A placeholder that is being posted must be noted, or nobody could take it back.
            self._activities.clear()
        stopped = isinstance(error, asyncio.CancelledError)
        patience = _STOPPED_WRITE_SECONDS if stopped else _LONGEST_WRITE_SECONDS
        _, late = await asyncio.wait([self._writing], timeout=patience)
        for writing in late:
            writing.cancel()

    async def _write(self) -> None:
        while self._activities:
            activities = list(self._activities)
            self._activities.clear()
            latest = activities[-1]
            try:
                await self._work.stage(self._id, *activities)
                if not self._activities and latest.stage is not Stage.DONE:
                    await self._show(latest)
            except DeliveryFailed as error:
                self._not_shown(latest, error)
            except ClaimLost as error:
                # The question was edited, withdrawn or taken over meanwhile: the work says so.
                log.debug("progress.left_out", interaction_id=self._id, why=str(error))
            except Exception as error:
                known = isinstance(error, BotError)
                log.exception(
                    "progress.failed",
                    interaction_id=self._id,
                    stage=latest.stage.value,
                    why=str(error) if known else "",
                    exc_info=not known,
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(_GAP_SECONDS):
                    await self._ending.wait()

    async def _show(self, activity: Activity) -> None:
        if self._channel is None:
            return
        if self._placeholder is None:
            await self._open(self._channel)
        at = self._placeholder if self._placeholder and self._placeholder.id else None
        await self._channel.progress(self._message, activity, at)

    def _not_shown(self, activity: Activity, error: DeliveryFailed) -> None:
        """Log what a platform did not take; that it asks to wait is nothing to be mended."""
        expected = error.retry_after_seconds is not None
        tell = log.info if expected else log.error
        event = "progress.left_out" if expected else "progress.failed"
        tell(event, interaction_id=self._id, stage=activity.stage.value, why=str(error))

    async def _open(self, channel: Channel) -> None:
        if not isinstance(channel, OpensPlaceholders) or not channel.has_placeholder(self._message):
            return
        self._placeholder = PostedRef(self._message.thread.channel, "")
        await self._work.placeholder(self._interaction, self._placeholder)
        self._placeholder = await channel.open_placeholder(self._message)
        await self._work.placeholder(self._interaction, self._placeholder)
