"""Fixtures of admins and colleagues, and reindex runs that a test steps through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web

from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease, RunLeases
from bot.chat.commands.run_message import Clock
from bot.chat.commands.run_status import RunWatcher
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.commands.reindex_runs import RunMessages
from bot.platforms.teams.payloads.activity import reference_of
from bot.store.database import Store
from ingestion.records.types import Failure
from tests.fakes.chat_context import RUN, RUNNING, MemoryDocuments, chat_context_over, document
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.teams import activities
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.names import ALICE, BOB, HELP
from tests.fakes.teams.people import ROOT
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

_FASTER = 40.0
_NOON, _BEGAN = 1_700_000_000.0, time.monotonic()
FAILED = Failure("HR", "Salaries of the board", "it is damaged", "Save it again.")


async def hurried(seconds: float) -> None:
    await asyncio.sleep(seconds / _FASTER)


def clock() -> float:
    """Return seconds that pass faster than those of this world."""
    return _NOON + (time.monotonic() - _BEGAN) * _FASTER


@dataclass
class RunScenario:
    """One run, and the processes that may show it."""

    teams: FakeTeams
    channel: TeamsChannel
    store: Store
    shelf: MemoryDocuments = field(default_factory=lambda: MemoryDocuments(RUNNING))
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
        said = activities.message(
            self.teams, self.teams.people[by], place, "1", text="reindex HR", mention=True
        )
        await self.channel.client.conversations.note(said)
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

        await wait_until(found)
        return found()[0]

    async def is_over(self) -> None:
        """Wait until nobody shows the run any more."""
        async with asyncio.timeout(60):
            while await self.store.notes.beginning("acme", "teams:reindex"):  # noqa: ASYNC110 - it is over in another task
                await asyncio.sleep(0.01)

    async def is_noted(self) -> None:
        """Wait until it is noted where the message is: whoever stops before that leaves a doubt."""
        async with asyncio.timeout(60):
            while not (await self.noted()).posted:  # noqa: ASYNC110 - it is noted in another task
                await asyncio.sleep(0.01)

    async def noted(self) -> RunLease:
        return (await self.notes().every())["r1"]

    def _followers(self, owner: str) -> RunFollowers:
        context = chat_context_over(self.store, KeepingInbox(), tenant="acme", shelf=self.shelf)
        watch = RunWatcher(self.shelf.get, pause=hurried, clock=clock)
        channel = self.channel
        return RunFollowers(
            commands=replace(context.commands, watch=watch),
            leases=self.notes(owner),
            screen=RunMessages(channel.client, channel, tenant="acme"),
            time=Clock(hurried, clock),
        )

    def _gone_elsewhere(self, where: str) -> None:
        self.elsewhere.append(where)


SALARIES = document("HR", "Salaries.md", readers="group:board")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"teams_admins": (ALICE, "anna@acme.example")})


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, store: Store
) -> TeamsChannel:
    return connect(
        settings,
        store.notes,
        cloud=cloud,
        credentials=credentials,
        pause=hurried,
        clock=clock,
    )


@pytest.fixture
def shelf() -> MemoryDocuments:
    """Two spaces; a page of HR is for the board alone."""
    shelf = MemoryDocuments()
    for each in (SALARIES, document("HR", "Leave.md"), document("IT", "VPN.md")):
        shelf.kept[each.space, each.id] = each
    return shelf


@pytest.fixture
def context(store: Store, inbox: KeepingInbox, shelf: MemoryDocuments) -> ChatContext:
    return chat_context_over(store, inbox, tenant="acme", shelf=shelf)


@pytest.fixture
def alice(teams: FakeTeams, client: BotTestClient) -> Visitor:
    return Visitor(teams, client, ALICE)


@pytest.fixture
def bob(teams: FakeTeams, client: BotTestClient) -> Visitor:
    return Visitor(teams, client, BOB)
