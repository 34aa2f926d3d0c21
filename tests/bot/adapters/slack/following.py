"""Runs that are played, shown on the local workspace in hurried time."""

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
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.commands.reindex_runs import RunMessages
from bot.store.database import Store
from ingestion.records.types import Failure
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.names import ALICE, HELP
from tests.bot.adapters.slack.workspace.posts import Post
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
class Theatre:
    """One run, and the processes that may show it."""

    slack: FakeSlack
    channel: SlackChannel
    store: Store
    shelf: Shelf = field(default_factory=lambda: Shelf(RUNNING))
    elsewhere: int = 0

    def notes(self, owner: str = "local") -> RunLeases:
        return RunLeases(self.store.notes, "acme", owner, platform="slack", clock=clock)

    def followers(self, owner: str = "local") -> RunFollowers:
        office = office_over(self.store, KeepingInbox(), tenant="acme", shelf=self.shelf)
        watch = RunWatcher(self.shelf, pause=hurried, clock=clock)
        client, caller = self.channel.client, self.channel.caller
        return RunFollowers(
            orders=replace(office.orders, watch=watch),
            notes=self.notes(owner),
            screen=RunMessages(client, caller, self.channel, tenant="acme"),
            time=Clock(hurried, clock),
        )

    @asynccontextmanager
    async def process(self, owner: str = "local") -> AsyncIterator[RunFollowers]:
        """Run a process until the block ends; then it stops in order."""
        followers = self.followers(owner)
        app = web.Application()
        followers.mount(app)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            yield followers
        finally:
            await runner.cleanup()

    async def order(self, followers: RunFollowers, channel: str = HELP) -> None:
        await followers.begin("r1", user=ALICE, channel=channel, elsewhere=self.gone_elsewhere)

    def gone_elsewhere(self, where: str) -> None:
        self.elsewhere += where == "directly"

    def goes(self, **changes: object) -> None:
        """Let the run go on."""
        self.shelf.runs[0] = replace(self.shelf.runs[0], **changes)  # type: ignore[arg-type]

    def ends(self, *failures: Failure) -> None:
        """Let the run end, with these failures."""
        ended = replace(RUN, changed=3, unchanged=1, failed=len(failures), failures=failures)
        self.shelf.runs[0] = ended

    def posts(self, channel: str = HELP) -> list[Post]:
        return self.slack.answers(channel)

    async def shows(self, words: str, channel: str = HELP) -> Post:
        """Wait until a message shows something; return it."""
        await until(lambda: [post for post in self.posts(channel) if words in post.shown])
        return next(post for post in self.posts(channel) if words in post.shown)

    async def is_over(self) -> None:
        """Wait until nobody shows the run any more."""
        async with asyncio.timeout(10):
            while await self.store.notes.beginning("acme", "slack:reindex"):  # noqa: ASYNC110 - it is over in another task
                await asyncio.sleep(0.01)

    async def noted(self) -> RunLease:
        return (await self.notes().every())["r1"]
