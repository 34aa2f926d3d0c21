"""Runs that are played, shown on the local Teams in hurried time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from aiohttp import web

from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease, RunLeases
from bot.chat.commands.run_message import Clock
from bot.chat.commands.run_status import RunWatcher
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.commands.reindex_runs import RunMessages
from bot.platforms.teams.payloads.references import reference_of
from bot.store.database import Store
from ingestion.records.types import Failure
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import turns
from tests.bot.adapters.teams.tenant.conversations import ROOT
from tests.bot.adapters.teams.tenant.names import ALICE, HELP
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.house import until
from tests.bot.offices import office_over
from tests.bot.orders.fakes import RUNNING
from tests.bot.shelves import RUN, Shelf

_FASTER = 40.0
_NOON, _BEGAN = 1_700_000_000.0, time.monotonic()
FAILED = Failure("HR", "Salaries of the board", "it is damaged", "Save it again.")


async def hurried(seconds: float) -> None:
    await asyncio.sleep(seconds / _FASTER)


def clock() -> float:
    """Return seconds that pass faster than those of this world."""
    return _NOON + (time.monotonic() - _BEGAN) * _FASTER


@dataclass
class Stage:
    """One run, and the processes that may show it."""

    teams: FakeTeams
    channel: TeamsChannel
    store: Store
    shelf: Shelf = field(default_factory=lambda: Shelf(RUNNING))
    elsewhere: list[str] = field(default_factory=list)

    def notes(self, owner: str = "local") -> RunLeases:
        return RunLeases(self.store.notes, "acme", owner, platform="teams", clock=clock)

    @asynccontextmanager
    async def process(self, owner: str = "local") -> AsyncIterator[RunFollowers]:
        """Run a process until the block ends; then it stops in order."""
        followers = self._followers(owner)
        app = web.Application()
        followers.mount(app)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            yield followers
        finally:
            await runner.cleanup()

    async def order(
        self, followers: RunFollowers, conversation: str = HELP, *, by: str = ALICE
    ) -> None:
        place = f"{conversation}{ROOT}1" if "@thread.tacv2" in conversation else conversation
        said = turns.message(
            self.teams, self.teams.people[by], place, "1", text="reindex HR", mention=True
        )
        await self.channel.places.note(said)
        await followers.begin(
            "r1", user=by, channel=reference_of(said), elsewhere=self._gone_elsewhere
        )

    def goes(self, **changes: object) -> None:
        """Let the run go on."""
        self.shelf.runs[0] = replace(self.shelf.runs[0], **changes)  # type: ignore[arg-type]

    def ends(self, *failures: Failure) -> None:
        """Let the run end, with these failures."""
        ended = replace(RUN, changed=3, unchanged=1, failed=len(failures), failures=failures)
        self.shelf.runs[0] = ended

    async def shows(self, words: str, conversation: str = HELP) -> Sent:
        """Wait until a message shows something; return it."""

        def found() -> list[Sent]:
            return [post for post in self.teams.posts_in(conversation) if words in post.shown]

        await until(found)
        return found()[0]

    async def is_over(self) -> None:
        """Wait until nobody shows the run any more."""
        async with asyncio.timeout(10):
            while await self.store.notes.beginning("acme", "teams:reindex"):  # noqa: ASYNC110 - it is over in another task
                await asyncio.sleep(0.01)

    async def is_noted(self) -> None:
        """Wait until it is noted where the message is: whoever stops before that leaves a doubt."""
        async with asyncio.timeout(10):
            while not (await self.noted()).posted:  # noqa: ASYNC110 - it is noted in another task
                await asyncio.sleep(0.01)

    async def noted(self) -> RunLease:
        return (await self.notes().every())["r1"]

    def _followers(self, owner: str) -> RunFollowers:
        office = office_over(self.store, KeepingInbox(), tenant="acme", shelf=self.shelf)
        watch = RunWatcher(self.shelf, pause=hurried, clock=clock)
        channel = self.channel
        return RunFollowers(
            orders=replace(office.orders, watch=watch),
            notes=self.notes(owner),
            screen=RunMessages(channel.connector, channel.places, channel, tenant="acme"),
            time=Clock(hurried, clock),
        )

    def _gone_elsewhere(self, where: str) -> None:
        self.elsewhere.append(where)
