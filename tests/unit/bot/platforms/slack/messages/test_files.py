"""Test that files are fetched from Slack, with its token, and from nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment
from bot.domain.ports import Fetches
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.posts import StoredFile
from tests.fakes.slack.server import FakeSlack

pytestmark = pytest.mark.attack

CONTENT = b"error 809\n" * 1000


@pytest.fixture
def log(slack: FakeSlack) -> Attachment:
    told = slack.keep(StoredFile("vpn.log", CONTENT)).told(slack.site)
    return Attachment("vpn.log", "text/plain", len(CONTENT), told["url_private_download"])


async def test_a_file_is_fetched_with_the_token(channel: SlackChannel, log: Attachment) -> None:
    assert isinstance(channel, Fetches)
    assert await channel.fetch(log, most=len(CONTENT)) == CONTENT
    async with channel.session():
        assert await channel.fetch(log, most=len(CONTENT)) == CONTENT


async def test_a_file_above_the_cap_is_not_taken(channel: SlackChannel, log: Attachment) -> None:
    with pytest.raises(DeliveryFailed, match="larger than 100 bytes"):
        await channel.fetch(log, most=100)


async def test_the_page_that_asks_to_sign_in_is_no_file(
    slack: FakeSlack, channel: SlackChannel, log: Attachment
) -> None:
    slack.scopes = tuple(scope for scope in slack.scopes if scope != "files:read")

    with pytest.raises(DeliveryFailed, match="files:read"):
        await channel.fetch(log, most=10_000_000)


@pytest.mark.parametrize("fault", [Fault(kept=10), Fault(status=500), Fault(status=0)])
async def test_half_a_file_is_none(
    slack: FakeSlack, channel: SlackChannel, log: Attachment, fault: Fault
) -> None:
    slack.fail("file", fault, fault)  # aiohttp asks a second time when nothing came

    with pytest.raises(DeliveryFailed):
        await channel.fetch(log, most=10_000_000)


@pytest.fixture
async def thief() -> AsyncIterator[tuple[str, list[str | None]]]:
    """Yield an address that is not Slack's, and the tokens that it was sent."""
    seen: list[str | None] = []

    async def steal(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.Response(text="stolen")

    app = web.Application()
    app.router.add_get("/{path:.*}", steal)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/")), seen


async def test_the_token_goes_nowhere_else(
    settings: Settings, thief: tuple[str, list[str | None]]
) -> None:
    site, seen = thief
    slacks = connect(settings)
    places = [
        f"{site}files-pri/F1/x",
        "https://files.slack.com.evil.example/x",
        "https://files.slack.com:444/x",
        "https://a@files.slack.com/x",
        "http://files.slack.com/x",
        "ftp://files.slack.com/x",
        "https://[files.slack.com/x",
        "file:///etc/passwd",
        "",
    ]
    for place in places:
        with pytest.raises(DeliveryFailed):
            await slacks.fetch(Attachment("x", "", 0, place), most=10)

    assert seen == []


async def test_a_redirect_is_not_followed(
    settings: Settings, thief: tuple[str, list[str | None]]
) -> None:
    site, seen = thief

    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPFound(site)

    app = web.Application()
    app.router.add_get("/{path:.*}", redirect)
    async with TestServer(app, host="127.0.0.1") as server:
        url = str(server.make_url("/"))
        channel = connect(settings.model_copy(update={"slack_api_url": f"{url}api/"}))
        with pytest.raises(DeliveryFailed, match="302"):
            await channel.fetch(Attachment("x", "", 0, f"{url}files/x"), most=10)

    assert seen == []
