"""Follow every run shown on a platform to its end, taking over from processes that died."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import structlog
from aiohttp import web

from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.run_leases import RunLease, RunLeases, process_owner
from bot.chat.commands.run_message import Clock, Elsewhere, RunMessage, Screen, TakenOver
from bot.chat.commands.types import CommandCaller, Refused, ReindexRequest
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Platform
from bot.observability.logs import LastingTrouble

BEAT_SECONDS = 5.0
LOOK_SECONDS = 10.0
"""Interval of the search for runs whose process died."""

_LOOK_ENDS_SECONDS = 1.0

log = structlog.get_logger(__name__)


class RunFollowers:
    """Follow runs that were started here, and those left by a process that died."""

    def __init__(
        self,
        *,
        commands: CommandExecutor,
        leases: RunLeases,
        screen: Screen,
        time: Clock = Clock(),  # noqa: B008 - it is frozen
    ) -> None:
        self._commands = commands
        self._leases = leases
        self._screen = screen
        self._time = time
        self._following: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    def mount(self, app: web.Application) -> None:
        """Take over orphaned runs once startup is complete, because the record is open then."""
        app.cleanup_ctx.append(self._running)
        app.on_startup.append(self._begin_looking)

    async def _begin_looking(self, _: web.Application) -> None:
        self._looking = asyncio.create_task(self._look())

    async def _running(self, _: web.Application) -> AsyncIterator[None]:
        """Stop following when the server stops, so that other processes can take over."""
        yield
        self._stopping.set()
        if self._looking is not None:
            # A look is a moment's reading, which is better finished than cut.
            await asyncio.wait([self._looking], timeout=_LOOK_ENDS_SECONDS)
            await _stopped([self._looking])
        await _stopped(self._following.values())

    async def order(
        self, request: ReindexRequest, by: CommandCaller, channel: str, elsewhere: Elsewhere
    ) -> tuple[str, str | None]:
        """Start a run and show it; return the reply, and a link to the run that is in the way.

        ``channel`` is where the command was given; ``elsewhere`` is called if the run's message is
        not there.
        """
        answer = await self._commands.reindex(request, by)
        if isinstance(answer, Refused):
            return answer.text, await self._link(answer.run_id, by.person.id)
        await self.begin(answer.run_id, user=by.person.id, channel=channel, elsewhere=elsewhere)
        return answer.text, None

    async def begin(self, run_id: str, *, user: str, channel: str, elsewhere: Elsewhere) -> None:
        """Show a started run; ``elsewhere`` is called if the message is not in the channel."""
        lease = RunLease(run_id, user, channel, ordered_at=self._leases.now())
        message = self._message(lease, new=True, elsewhere=elsewhere)
        self._start(run_id, message)
        try:
            await message.beat()
        except StoreUnavailable as error:
            log.warning("orders.run_not_noted", run=run_id, why=str(error))

    async def _link(self, run_id: str, user: str) -> str | None:
        """Return a link to a run's message, if the user can open it."""
        try:
            lease = await self._shown_as(run_id) if run_id else None
        except StoreUnavailable as error:
            log.warning("orders.run_not_found", run=run_id, why=str(error))
            return None
        if lease is None or (self._screen.is_alone(lease.place) and lease.user != user):
            return None
        return await self._screen.link(lease)

    async def _shown_as(self, run_id: str) -> RunLease | None:
        """Return the lease of a shown run, also under the id of a run that resumed it.

        Any process may show it; None if it is not shown. Raises StoreUnavailable.
        """
        for lease in (await self._leases.every()).values():
            if lease.posted and await self._commands.reindexing.is_now(lease.run_id, run_id):
                return lease
        return None

    def _message(
        self, lease: RunLease, *, new: bool, elsewhere: Elsewhere = lambda _: None
    ) -> RunMessage:
        return RunMessage(
            lease,
            screen=self._screen,
            leases=self._leases,
            time=self._time,
            new=new,
            elsewhere=elsewhere,
        )

    def _start(self, run_id: str, message: RunMessage) -> None:
        task = asyncio.create_task(self._follow(run_id, message))
        self._following[run_id] = task
        task.add_done_callback(lambda _: self._following.pop(run_id, None))

    async def _follow(self, run_id: str, message: RunMessage) -> None:
        try:
            await self._followed(run_id, message)
        except TakenOver:
            log.info("orders.run_taken_over", run=run_id)
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):
                await message.release()
            raise
        except Exception as error:
            # It is found among those that are left, and gone on with.
            log.exception("orders.run_broke", run=run_id, error=type(error).__name__)

    async def _followed(self, run_id: str, message: RunMessage) -> None:
        following = asyncio.create_task(message.follow(self._commands.follow(run_id)))
        beating = asyncio.create_task(self._beat(message))
        try:
            done, _ = await asyncio.wait({following, beating}, return_when="FIRST_COMPLETED")
        finally:
            await _stopped([following, beating])
        for each in done:
            await each

    async def _beat(self, message: RunMessage) -> None:
        trouble = LastingTrouble("orders.run_beat")
        while True:
            await self._time.pause(BEAT_SECONDS)
            try:
                await message.beat()
            except StoreUnavailable as error:
                trouble.note(error)
            else:
                trouble.note(None)

    async def _look(self) -> None:
        trouble = LastingTrouble("orders.runs_left")
        while not self._stopping.is_set():
            try:
                await self._adopt()
            except StoreUnavailable as error:
                trouble.note(error)
            else:
                trouble.note(None)
            pausing = asyncio.ensure_future(self._time.pause(LOOK_SECONDS))
            stopped = asyncio.create_task(self._stopping.wait())
            await asyncio.wait([pausing, stopped], return_when="FIRST_COMPLETED")
            for each in (pausing, stopped):
                each.cancel()

    async def _adopt(self) -> None:
        for run_id, lease in (await self._leases.every()).items():
            if run_id not in self._following and await self._leases.take(lease):
                log.info("orders.run_adopted", run=run_id)
                self._start(run_id, self._message(lease, new=False))


async def _stopped(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have cleaned up."""
    stopping = list(tasks)
    for task in stopping:
        task.cancel()
    if stopping:
        await asyncio.wait(stopping)


def run_followers(
    context: ChatContext, screen: Screen, *, platform: Platform, alone: bool
) -> RunFollowers:
    """Return the followers of a platform's runs; ``alone``: no other process uses the record."""
    leases = RunLeases(context.notes, context.tenant, process_owner(alone=alone), platform=platform)
    return RunFollowers(commands=context.commands, leases=leases, screen=screen)
