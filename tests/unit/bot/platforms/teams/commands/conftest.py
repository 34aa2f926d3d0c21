"""Fixtures of admins and colleagues, and reindex runs that a test steps through."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_message import Screen
from bot.domain.messages import Platform
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.payloads.activity import reference_of
from bot.platforms.teams.reindex_runs import RunMessages
from bot.store.database import Store
from tests.fakes.chat_commands import RUNNING
from tests.fakes.chat_context import MemoryDocuments, chat_context_over, document
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.scenarios import RunOnPlatform, clock, hurried
from tests.fakes.teams import activities
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.names import ALICE, BOB, HELP
from tests.fakes.teams.people import ROOT
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor


@dataclass
class RunScenario(RunOnPlatform):
    """One run, and the processes that may show it in the tenant."""

    teams: FakeTeams
    channel: TeamsChannel
    store: Store
    shelf: MemoryDocuments = field(default_factory=lambda: MemoryDocuments(RUNNING))
    elsewhere: list[str] = field(default_factory=list)
    platform: Platform = "teams"

    @property
    def screen(self) -> Screen:
        return RunMessages(self.channel.client, self.channel, tenant="acme")

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

    async def shows(self, words: str, conversation: str = HELP) -> Sent:
        """Wait until a message shows something; return it."""

        def found() -> list[Sent]:
            return [post for post in self.teams.posts_in(conversation) if words in post.shown]

        await wait_until(found)
        return found()[0]

    async def is_noted(self) -> None:
        """Wait until it is noted where the message is: whoever stops before that leaves a doubt."""
        async with asyncio.timeout(60):
            while not (await self.noted()).posted:  # noqa: ASYNC110 - it is noted in another task
                await asyncio.sleep(0.01)

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
