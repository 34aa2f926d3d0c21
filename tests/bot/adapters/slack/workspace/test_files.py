"""Files of people, for who may read them."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.files import StoredFile
from tests.bot.adapters.slack.workspace.names import HELP, TOKEN
from tests.bot.adapters.slack.workspace.plain_bot import PlainBot


async def fetch(address: str, token: str = TOKEN) -> tuple[int, str, bytes]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(address, headers=headers) as answer,
    ):
        return answer.status, answer.content_type, await answer.read()


async def shared(alice: Visitor, bot: PlainBot) -> str:
    await alice.say(HELP, "see", files=[StoredFile("a.log", b"line\n" * 100)], mention=True)
    event = next(one for one in bot.events if one["type"] == "message")
    assert event["subtype"] == "file_share"
    assert (event["files"][0]["size"], event["files"][0]["filetype"]) == (500, "log")
    return str(event["files"][0]["url_private_download"])


async def test_a_file_is_given_to_who_may_read_it(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    address = await shared(alice, bot)
    assert await fetch(address) == (200, "text/plain", b"line\n" * 100)
    status, kind, page = await fetch(address, token="xoxb-wrong")
    assert (status, kind, b"Sign in" in page) == (200, "text/html", True)
    slack.scopes = ("chat:write",)
    assert (await fetch(address))[1] == "text/html"
    assert slack.calls.count("file") == 3


async def test_a_download_breaks_off_or_takes_its_time_on_demand(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    address = await shared(alice, bot)
    slack.fail("file", Fault(kept=10), Fault(seconds=30), Fault(seconds=0.01))
    with pytest.raises(aiohttp.ClientPayloadError):
        await fetch(address)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await fetch(address)
    assert len((await fetch(address))[2]) == 500


async def test_a_file_of_another_workspace_must_be_asked_for(
    api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    await alice.say(alice.direct, "see", files=[StoredFile("a.txt", b"x", external=True)])
    (shown,) = bot.events[-1]["files"]
    assert shown["file_access"] == "check_file_info"
    asked = await api.files_info(file=shown["id"])
    assert asked["file"]["name"] == "a.txt"
