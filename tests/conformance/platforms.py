"""Each platform as an asker sees it: the real adapter between a local double and an inbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.adapters import slack as slack_adapter
from bot.adapters import teams as teams_adapter
from bot.adapters.teams.cloud import Cloud
from bot.config import load_settings
from bot.ports import Channel, Inbox
from tests.bot.adapters.slack import events, server
from tests.bot.adapters.teams import activities
from tests.bot.adapters.teams.server import APP_ID, ENTRA, ISSUER, CountingCredentials, FakeTeams

PEOPLE = "C0PEOPLE0"


class Platform(Protocol):
    """Where a question is asked and its replies are read."""

    name: str

    @property
    def channel(self) -> Channel: ...

    def mount(self, app: web.Application, inbox: Inbox) -> None: ...

    async def ask(self, client: activities.Client, text: str, *, private: bool) -> int:
        """Deliver the one question as the platform does; return the HTTP status."""
        ...

    def seen(self) -> Sequence[str]:
        """Return what the asker's thread shows, a message each, as a person reads it."""
        ...

    def raw(self) -> str:
        """Return everything that the platform was given to show."""
        ...

    def people(self) -> Sequence[str] | None:
        """Return what the people's channel shows, None where there is none yet."""
        ...


class OnSlack:
    name = "slack"

    def __init__(self, workspace: server.FakeSlack) -> None:
        self._workspace = workspace
        settings = load_settings(
            _env_file=None,
            slack_bot_token=server.TOKEN,
            slack_signing_secret=events.SECRET,
            slack_api_url=workspace.url,
            slack_team_id=server.TEAM,
            slack_escalation_channel=PEOPLE,
        )
        self.channel: slack_adapter.SlackChannel = slack_adapter.connect(settings)

    def mount(self, app: web.Application, inbox: Inbox) -> None:
        slack_adapter.mount(app, self.channel, inbox)

    async def ask(self, client: activities.Client, text: str, *, private: bool) -> int:
        event = events.direct(text) if private else events.mention(text)
        return (await events.send(client, events.envelope(event))).status

    def seen(self) -> Sequence[str]:
        return [post.shown for post in self._workspace.posts if post.channel != PEOPLE]

    def raw(self) -> str:
        posts = self._workspace.posts
        return "\n".join(f"{post.raw}\n{post.payload['text']}" for post in posts)

    def people(self) -> Sequence[str] | None:
        return [post.shown for post in self._workspace.in_channel(PEOPLE)]


class OnTeams:
    name = "teams"

    def __init__(self, tenant: FakeTeams) -> None:
        self._tenant = tenant
        settings = load_settings(
            _env_file=None,
            microsoft_app_id=APP_ID,
            microsoft_app_password="secret",
            microsoft_app_tenant_id=ENTRA,
        )
        cloud = Cloud(issuer=ISSUER, metadata_url=f"{tenant.url}/meta")
        self.channel: teams_adapter.TeamsChannel = teams_adapter.connect(
            settings, cloud=cloud, credentials=CountingCredentials()
        )

    def mount(self, app: web.Application, inbox: Inbox) -> None:
        teams_adapter.mount(app, self.channel, inbox)

    async def ask(self, client: activities.Client, text: str, *, private: bool) -> int:
        asked = (
            activities.in_person(self._tenant, text)
            if private
            else activities.in_channel(self._tenant, f"<at>Help</at> {text}")
        )
        return (await activities.send(client, self._tenant, asked)).status

    def seen(self) -> Sequence[str]:
        return [
            sent.shown.replace("&lt;", "<").replace("&amp;", "&") for sent in self._tenant.messages
        ]

    def raw(self) -> str:
        return "\n".join(str(sent.activity["text"]) for sent in self._tenant.messages)

    def people(self) -> Sequence[str] | None:
        return None


@asynccontextmanager
async def on_slack() -> AsyncIterator[Platform]:
    async with server.FakeSlack().serving() as workspace:
        yield OnSlack(workspace)


@asynccontextmanager
async def on_teams() -> AsyncIterator[Platform]:
    key = generate_private_key(public_exponent=65537, key_size=2048)
    async with FakeTeams(keys={"k1": key}).serving() as tenant:
        yield OnTeams(tenant)


PLATFORMS = {"slack": on_slack, "teams": on_teams}


@asynccontextmanager
async def client_of(platform: Platform, inbox: Inbox) -> AsyncIterator[activities.Client]:
    app = web.Application()
    platform.mount(app, inbox)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client
