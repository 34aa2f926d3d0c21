"""Show one run in one message: posted once, edited now and then, never after its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import structlog

from bot.chat.commands.run_leases import RunLease, RunLeases
from bot.chat.commands.run_status import RunStatus
from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused, StoreUnavailable


class NotTaken(DeliveryFailed):
    """The platform certainly did nothing; it may do it later."""


class Screen(Protocol):
    """Where messages of runs can be shown. A place is a platform's own name, opaque to others.

    Everything that is awaited raises DeliveryFailed: DeliveryRefused where this run
    can't be shown in its place, NotTaken where it may later.
    """

    async def place_of(self, shown: RunLease) -> str:
        """Return where a run is to be shown: where it was ordered, or to who ordered it alone."""
        ...

    async def direct(self, shown: RunLease) -> str:
        """Return the conversation with who ordered."""
        ...

    def is_alone(self, place: str) -> bool:
        """Tell whether nobody but who ordered reads what is shown in a place."""
        ...

    async def post(self, shown: RunLease, told: RunStatus) -> str:
        """Post a run's message in its place; return its id."""
        ...

    async def find(self, shown: RunLease, besides: str) -> str | None:
        """Return the id of a run's message that may have been posted, "" where none is seen.

        None: the platform can't be asked. ``besides`` is the id of one that is of no use any more.
        """
        ...

    async def edit(self, shown: RunLease, told: RunStatus) -> None:
        """Change a run's message."""
        ...


EDIT_SECONDS = 2.0
"""A message is changed so often at most."""

_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
_PATIENCE_SECONDS = 24 * 3600.0
"""So long an end that the platform does not take is tried again."""

_MOST_TRIES = 2
"""Where a platform can't be asked, a message is posted in doubt once more, and then at the end."""

log = structlog.get_logger(__name__)


Elsewhere = Callable[[Literal["directly", "nowhere"]], None]
"""Told when a run is not shown where it was ordered: but directly, or not at all for now."""


class TakenOver(Exception):
    """Another process shows the run now, or has shown it to its end."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How time is told and spent, in seconds."""

    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class RunMessage:
    """Shows one run. What the platform does not take on the way is left out; its end is not.

    Where the message can't be posted, or is gone when the run ends, it goes to who ordered the run
    in a direct message. ``new``: no process may have posted it before.
    """

    def __init__(
        self,
        shown: RunLease,
        *,
        screen: Screen,
        notes: RunLeases,
        time: Clock,
        new: bool,
        elsewhere: Elsewhere,
    ) -> None:
        self._shown = shown
        self._screen = screen
        self._notes = notes
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
        async for told in progress:
            await self._time.pause(max(0.0, self._due - self._time.clock()))
            if told.ended:
                await self._end(told)
                return
            await self._update(told)

    async def beat(self) -> None:
        """Note that this process goes on. Raises TakenOver, StoreUnavailable."""
        async with self._writing:
            if self._over:
                return
            if self._noted and not await self._notes.is_ours(self._shown.run_id):
                raise TakenOver(self._shown.run_id)
            await self._notes.keep(self._shown)
            self._noted = True

    async def release(self) -> None:
        """Leave the rest to any other process, if there is any. Raises StoreUnavailable."""
        async with self._writing:
            if not await self._notes.is_ours(self._shown.run_id):
                return
            if self._over:
                await self._notes.end(self._shown.run_id)
            else:
                await self._notes.release(self._shown)

    async def _update(self, told: RunStatus) -> None:
        """Show how far it is, if that can be done now."""
        if self._stuck:
            return
        try:
            await self._show(told)
        except DeliveryRefused as error:
            log.info("orders.run_not_shown", run=told.run_id, why=str(error))
            self._stuck = self._moved or bool(self._shown.posted)
            if not self._stuck:
                await self._elsewhere_then(told)
        except (DeliveryFailed, StoreUnavailable) as error:
            log.info("orders.run_shown_later", run=told.run_id, why=str(error))

    async def _elsewhere_then(self, told: RunStatus) -> None:
        try:
            await self._move()
        except DeliveryFailed as error:
            log.warning("orders.run_has_no_place", run=told.run_id, why=str(error))
            if isinstance(error, DeliveryRefused) and not self._lost:
                self._lost = True
                self._elsewhere("nowhere")
        else:
            await self._update(told)

    async def _end(self, told: RunStatus) -> None:
        """Show the end, whatever it takes; then nothing is shown any more."""
        pause, last = _FIRST_PAUSE_SECONDS, self._time.clock() + _PATIENCE_SECONDS
        while (why := await self._ended(told)) and self._time.clock() < last:
            log.warning("orders.run_end_not_shown", run=told.run_id, why=why)
            await self._time.pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        try:
            async with self._writing:
                self._over = True
                await self._notes.end(self._shown.run_id)
        except StoreUnavailable as error:
            # The next start shows the same end in the same message once more.
            log.warning("orders.run_note_left", run=told.run_id, why=str(error))

    async def _ended(self, told: RunStatus) -> str:
        """Show the end; return why that did not work, or ""."""
        try:
            try:
                await self._show(told)
            except DeliveryRefused:
                if self._moved:
                    raise
                await self._move()
                await self._show(told)
        except BotError as error:
            return str(error)
        return ""

    async def _show(self, told: RunStatus) -> None:
        await self.beat()
        if not self._shown.place:
            await self._keep(replace(self._shown, place=await self._screen.place_of(self._shown)))
        self._due = self._time.clock() + EDIT_SECONDS
        if self._shown.posted or await self._found():
            await self._screen.edit(self._shown, told)
        elif told.ended or self._shown.tries < _MOST_TRIES:
            await self._post(told)

    async def _found(self) -> bool:
        """Tell whether the message was posted already, by whatever attempt."""
        if not self._doubt:
            return False
        found = await self._screen.find(self._shown, self._useless)
        if found:
            await self._keep(replace(self._shown, posted=found, tries=0))
        elif found is not None and self._shown.tries:
            await self._keep(replace(self._shown, tries=0))
        return bool(found)

    async def _post(self, told: RunStatus) -> None:
        """Post the message; noted before and after, so that another process knows of the doubt."""
        if self._shown.tries:
            log.warning("orders.run_may_be_shown_twice", run=told.run_id)
        self._doubt = True
        await self._keep(replace(self._shown, tries=self._shown.tries + 1))
        try:
            posted = await self._screen.post(self._shown, told)
        except (NotTaken, DeliveryRefused):
            await self._keep(replace(self._shown, tries=self._shown.tries - 1))
            raise
        await self._keep(replace(self._shown, posted=posted, tries=0))
        if self._shown.place != self._shown.channel:
            self._elsewhere("directly")

    async def _move(self) -> None:
        """Go to a direct message with who ordered the run. Raises DeliveryFailed."""
        direct = await self._screen.direct(self._shown)
        self._moved = self._doubt = True
        self._useless = self._shown.posted
        await self._keep(replace(self._shown, place=direct, posted="", tries=0))

    async def _keep(self, shown: RunLease) -> None:
        """Remember it; when it can't be noted now, the next beat does."""
        async with self._writing:
            self._shown = shown
            try:
                await self._notes.keep(shown)
            except StoreUnavailable as error:
                log.warning("orders.run_not_noted", run=shown.run_id, why=str(error))
