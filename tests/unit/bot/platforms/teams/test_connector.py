"""Test what a call goes through before Teams has it: the token, a proxy, a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client import connector
from bot.platforms.teams.client.errors import NoToken, NotReached
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.rendering.answers import progress_message
from tests.fakes.teams.activities import CHANNEL, question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.server import FakeTeams

WORDS = {"type": "message", "text": "x"}
Opened = Callable[[], TeamsChannel]


@dataclass
class Proxy:
    """A proxy that answers every request with ``status``, or never with 0; what it was asked."""

    status: int
    address: str = ""
    heads: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if self.status:
            body = b'{"id": "7"}'
            head = f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
        else:
            await reader.read()
        writer.close()


@pytest.fixture
async def opened(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials
) -> AsyncIterator[Opened]:
    """Return how to open a channel, which reads the environment then."""
    channels: list[TeamsChannel] = []

    async def pause(_: float) -> None:
        await asyncio.sleep(0)

    def open_channel() -> TeamsChannel:
        channels.append(connect(settings, cloud=cloud, credentials=credentials, pause=pause))
        return channels[-1]

    yield open_channel
    for channel in channels:
        await channel.client.close()


def elsewhere(teams: FakeTeams, url: str) -> str:
    return question(teams).reply_to.replace(teams.url, url)


@pytest.mark.parametrize("scheme", ["", "http://", "http://me:p%40ss@"])
async def test_a_proxy_is_gone_through_with_or_without_a_scheme(
    teams: FakeTeams, opened: Opened, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    async with Proxy(201).serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"{scheme}{proxy.address}")
        assert await opened().client.send(elsewhere(teams, "http://smba.test"), WORDS) == "7"
    (head,) = proxy.heads
    assert head.startswith("POST http://smba.test/v3/conversations/")
    assert ("Proxy-Authorization: Basic bWU6cEBzcw==" in head) == ("@" in scheme)


@pytest.mark.parametrize("with_port", [True, False])
async def test_no_proxy_leads_to_hosts_that_are_excepted(
    teams: FakeTeams, opened: Opened, monkeypatch: pytest.MonkeyPatch, *, with_port: bool
) -> None:
    excepted = teams.url.removeprefix("http://")
    async with Proxy(201).serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.setenv("NO_PROXY", excepted if with_port else excepted.partition(":")[0])
        await opened().client.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 1
    assert not proxy.heads


@pytest.mark.parametrize("status", [0, 407, 502])
async def test_a_proxy_that_leads_nowhere_means_that_nothing_was_sent(
    teams: FakeTeams, opened: Opened, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(connector, "CONNECT_SECONDS", 0.1)
    async with Proxy(status).serving() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        with pytest.raises(NotReached):
            await opened().client.send(elsewhere(teams, "https://smba.test"), WORDS)
    assert all(head.startswith("CONNECT smba.test:443 ") for head in proxy.heads)
    assert proxy.heads


async def test_the_token_does_not_follow_a_redirect(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked: list[str] = []

    async def other(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({"id": "7"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", other)
    async with TestServer(app, host="127.0.0.1") as server:
        teams.fail(Fault(307, location=str(server.make_url("/there"))))
        with pytest.raises(DeliveryFailed, match="307"):
            await channel.client.send(question(teams).reply_to, WORDS)
    assert not asked


@pytest.mark.parametrize(("seconds", "fetched"), [(3_600.0, 1), (200.0, 2)])
async def test_a_token_is_replaced_before_it_is_over(
    teams: FakeTeams,
    channel: TeamsChannel,
    credentials: CountingCredentials,
    seconds: float,
    fetched: int,
) -> None:
    credentials.seconds = seconds
    for _ in range(2):
        await channel.client.send(question(teams).reply_to, WORDS)
    assert credentials.fetched == fetched
    assert teams.sent[-1].authorization == f"Bearer token-{fetched}"


@pytest.mark.parametrize("seconds", [200.0, -1.0])
@pytest.mark.parametrize("slow", [True, False])
async def test_a_token_serves_while_it_is_valid_though_no_other_is_given(
    teams: FakeTeams,
    channel: TeamsChannel,
    credentials: CountingCredentials,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seconds: float,
    slow: bool,
) -> None:
    there = question(teams).reply_to
    credentials.seconds = seconds
    await channel.client.send(there, WORDS)
    monkeypatch.setattr(connector, "TOKEN_SECONDS", 0.1)
    credentials.slow_seconds, credentials.refusal = (600.0, "") if slow else (0.0, "AADSTS7000222")
    if seconds > 0:
        await channel.client.send(there, WORDS)
        assert teams.sent[-1].authorization == "Bearer token-1"
    else:
        with pytest.raises(NoToken):
            await channel.client.send(there, WORDS)
    assert channel.client.trouble is not None


async def test_a_slow_login_means_that_nothing_was_sent(
    teams: FakeTeams,
    channel: TeamsChannel,
    credentials: CountingCredentials,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connector, "TOKEN_SECONDS", 0.1)
    credentials.slow_seconds = 600.0
    sends = [channel.client.send(question(teams).reply_to, WORDS) for _ in range(3)]
    for failed in await asyncio.gather(*sends, return_exceptions=True):
        assert isinstance(failed, NoToken)
    assert "cannot be reached" in str(channel.client.trouble)
    assert not teams.calls
    credentials.slow_seconds = 0.0
    await channel.client.send(question(teams).reply_to, WORDS)
    assert channel.client.trouble is None


async def test_a_login_that_takes_its_time_does_not_shorten_the_call(
    teams: FakeTeams,
    channel: TeamsChannel,
    credentials: CountingCredentials,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connector, "TIMEOUT_SECONDS", 0.5)
    credentials.slow_seconds = 0.6
    await channel.client.send(question(teams).reply_to, WORDS)
    assert len(teams.messages) == 1


async def test_a_refused_token_is_replaced_before_the_next_call(
    teams: FakeTeams, channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    there = question(teams).reply_to
    teams.fail(None, Fault(401))
    await channel.client.send(there, WORDS)
    with pytest.raises(DeliveryFailed, match="401"):
        await channel.client.send(there, WORDS)
    await channel.client.send(there, WORDS)
    assert credentials.fetched == 2
    assert teams.sent[-1].authorization == "Bearer token-2"


async def test_many_calls_at_once_fetch_one_token(
    teams: FakeTeams, channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    there = question(teams).reply_to
    await asyncio.gather(*(channel.client.send(there, WORDS) for _ in range(5)))
    assert credentials.fetched == 1


async def test_texts_are_sent_in_the_language_that_is_set(
    teams: FakeTeams, settings: Settings, cloud: Cloud, credentials: CountingCredentials
) -> None:
    german = settings.model_copy(update={"ui_language": "de"})
    channel = connect(german, cloud=cloud, credentials=credentials)
    try:
        await channel.client.send(question(teams).reply_to, progress_message())
    finally:
        await channel.client.close()
    assert teams.posts_in(CHANNEL)[-1].text == "Ich sehe nach \u2026"
