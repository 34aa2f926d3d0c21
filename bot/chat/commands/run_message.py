"""Show one run in one message: posted once, edited at intervals, never after its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import structlog

from bot.chat.commands.run_leases import RunLease, RunLeases
from bot.chat.commands.run_status import RunStatus
from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused, StoreUnavailable


class NotTaken(DeliveryFailed):
    """The platform certainly posted nothing; a retry may succeed."""


class Screen(Protocol):
    """Platform operations on the messages of runs. A place is an id opaque to others.

    Every coroutine raises DeliveryFailed: DeliveryRefused if this run can't be shown in its place,
    NotTaken if a retry may succeed.
    """

    async def has_outsiders(self, lease: RunLease) -> bool:
        """Return whether outsiders may read the place where a run was ordered."""
        ...

    async def link(self, lease: RunLease) -> str | None:
        """Return a link to a run's message, None if the platform gives none; never raises."""
        ...

    async def direct(self, lease: RunLease) -> str:
        """Return the direct message conversation with the caller."""
        ...

    def is_alone(self, place: str) -> bool:
        """Return whether only the caller can read a place."""
        ...

    async def post(self, lease: RunLease, status: RunStatus) -> str:
        """Post a run's message in its place; return its id."""
        ...

    async def find(self, lease: RunLease, besides: str) -> str | None:
        """Return the id of a run's message that may have been posted, "" if none is found.

        None: the platform can't be searched. ``besides`` is the id of an obsolete message to
        ignore.
        """
        ...

    async def edit(self, lease: RunLease, status: RunStatus) -> None:
        """Edit a run's message."""
        ...


EDIT_SECONDS = 2.0
"""Minimum interval between edits of a message."""

_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
_PATIENCE_SECONDS = 24 * 3600.0
"""How long showing a run's end is retried."""

_MOST_TRIES = 2
"""If the platform can't be searched, a post with unknown result is repeated once, and at the
end."""

log = structlog.get_logger(__name__)


Elsewhere = Callable[[Literal["directly", "nowhere"]], None]
"""Called when a run is shown in a direct message instead of its channel, or nowhere for now."""


class TakenOver(Exception):
    """Another process shows the run now, or has shown it to its end."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Sleep function and monotonic clock, in seconds."""

    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class RunMessage:
    """Show one run; failed updates are skipped, but the end is retried.

    If the message can't be posted, or was deleted when the run ends, it is sent to the caller in a
    direct message. ``new``: no process can have posted it before.
    """

    def __init__(
        self,
        lease: RunLease,
        *,
        screen: Screen,
        leases: RunLeases,
        time: Clock,
        new: bool,
        elsewhere: Elsewhere,
    ) -> None:
        self._lease = lease
        self._screen = screen
        self._leases = leases
        self._time = time
        self._doubt = not new
        self._elsewhere = elsewhere
        self._noted = not new
        self._moved = False
        self._stuck = False
        self._over = False
        self._lost = False
        self._useless = ""
        self._due = time.clock()
        self._writing = asyncio.Lock()

    async def follow(self, progress: AsyncIterator[RunStatus]) -> None:
        """Show a run to its end. Raises TakenOver."""
        async for status in progress:
            await self._time.pause(max(0.0, self._due - self._time.clock()))
            if status.ended:
                await self._end(status)
                return
            await self._update(status)
            # From the response on: a slow request is not followed by a hasty one.
            self._due = self._time.clock() + EDIT_SECONDS

    async def beat(self) -> None:
        """Write the heartbeat. Raises TakenOver, StoreUnavailable."""
        async with self._writing:
            if self._over:
                return
            if self._noted and not await self._leases.is_ours(self._lease.run_id):
                raise TakenOver(self._lease.run_id)
            await self._leases.keep(self._lease)
            self._noted = True

    async def release(self) -> None:
        """Release the run for any other process. Raises StoreUnavailable."""
        async with self._writing:
            if not await self._leases.is_ours(self._lease.run_id):
                return
            if self._over:
                await self._leases.end(self._lease.run_id)
            else:
                await self._leases.release(self._lease)

    async def _update(self, status: RunStatus) -> None:
        """Show the progress, if possible now."""
        if self._stuck:
            return
        try:
            await self._show(status)
        except DeliveryRefused as error:
            log.info("orders.run_not_shown", run=status.run_id, why=str(error))
            self._stuck = self._moved or bool(self._lease.posted)
            if not self._stuck:
                await self._elsewhere_then(status)
        except (DeliveryFailed, StoreUnavailable) as error:
            log.info("orders.run_shown_later", run=status.run_id, why=str(error))

    async def _elsewhere_then(self, status: RunStatus) -> None:
        try:
            await self._move()
        except DeliveryFailed as error:
            log.warning("orders.run_has_no_place", run=status.run_id, why=str(error))
            if isinstance(error, DeliveryRefused) and not self._lost:
                self._lost = True
                self._elsewhere("nowhere")
        else:
            await self._update(status)

    async def _end(self, status: RunStatus) -> None:
        """Show the end, with retries, then delete the lease."""
        pause, last = _FIRST_PAUSE_SECONDS, self._time.clock() + _PATIENCE_SECONDS
        while (why := await self._ended(status)) and self._time.clock() < last:
            log.warning("orders.run_end_not_shown", run=status.run_id, why=why)
            await self._time.pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        try:
            async with self._writing:
                self._over = True
                await self._leases.end(self._lease.run_id)
        except StoreUnavailable as error:
            # The next start shows the same end in the same message once more.
            log.warning("orders.run_note_left", run=status.run_id, why=str(error))

    async def _ended(self, status: RunStatus) -> str:
        """Show the end; return the reason of a failure, or ""."""
        try:
            try:
                await self._show(status)
            except DeliveryRefused:
                if self._moved:
                    raise
                await self._move()
                await self._show(status)
        except BotError as error:
            return str(error)
        return ""

    async def _show(self, status: RunStatus) -> None:
        await self.beat()
        if not self._lease.place:
            await self._keep(replace(self._lease, place=await self._place()))
        if self._lease.posted or await self._found():
            await self._screen.edit(self._lease, status)
        elif status.ended or self._lease.tries < _MOST_TRIES:
            await self._post(status)

    async def _place(self) -> str:
        """Return where the run was ordered, or a direct conversation if outsiders may read that."""
        if self._screen.is_alone(self._lease.channel):
            return self._lease.channel
        with suppress(DeliveryRefused):
            if not await self._screen.has_outsiders(self._lease):
                return self._lease.channel
        return await self._screen.direct(self._lease)

    async def _found(self) -> bool:
        """Return whether an earlier attempt, of any process, posted the message."""
        if not self._doubt:
            return False
        found = await self._screen.find(self._lease, self._useless)
        if found:
            await self._keep(replace(self._lease, posted=found, tries=0))
        elif found is not None and self._lease.tries:
            await self._keep(replace(self._lease, tries=0))
        return bool(found)

    async def _post(self, status: RunStatus) -> None:
        """Post the message; the attempt is stored before and after, in case this process dies."""
        if self._lease.tries:
            log.warning("orders.run_may_be_shown_twice", run=status.run_id)
        self._doubt = True
        await self._keep(replace(self._lease, tries=self._lease.tries + 1))
        try:
            posted = await self._screen.post(self._lease, status)
        except (NotTaken, DeliveryRefused):
            await self._keep(replace(self._lease, tries=self._lease.tries - 1))
            raise
        await self._keep(replace(self._lease, posted=posted, tries=0))
        if self._lease.place != self._lease.channel:
            self._elsewhere("directly")

    async def _move(self) -> None:
        """Switch to a direct message with the caller. Raises DeliveryFailed."""
        direct = await self._screen.direct(self._lease)
        self._moved = self._doubt = True
        self._useless = self._lease.posted
        await self._keep(replace(self._lease, place=direct, posted="", tries=0))

    async def _keep(self, lease: RunLease) -> None:
        """Replace the lease and store it; if that fails, the next heartbeat stores it."""
        async with self._writing:
            self._lease = lease
            try:
                await self._leases.keep(lease)
            except StoreUnavailable as error:
                log.warning("orders.run_not_noted", run=lease.run_id, why=str(error))
