"""While who signs tokens is slow or away, everything else goes on."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.transport.http import mount
from tests.bot.adapters.teams.activities import Client, in_person, send
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials, published
from tests.bot.adapters.teams.tenant.names import ISSUER

LONGEST_STALL_SECONDS = 0.5


class Stalls:
    """Measures for how long nothing else could run."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.monotonic() - before - 0.005)


async def test_a_slow_issuer_stalls_nothing(
    teams: FakeTeams, settings: Settings, office: ChatContext, signing_key: RSAPrivateKey
) -> None:
    """Botbuilder fetches keys in a blocking call: a second here would be a second's stall."""
    may = asyncio.Event()

    async def keys(_: web.Request) -> web.Response:
        await may.wait()
        return web.json_response(published({"k1": signing_key}))

    async def metadata(request: web.Request) -> web.Response:
        return web.json_response({"issuer": ISSUER, "jwks_uri": f"http://{request.host}/keys"})

    issuer = web.Application()
    issuer.router.add_get("/meta", metadata)
    issuer.router.add_get("/keys", keys)
    app = web.Application()
    async with TestServer(issuer, host="127.0.0.1") as there:
        cloud = Cloud(issuer=ISSUER, metadata_url=str(there.make_url("/meta")))
        mount(app, connect(settings, cloud=cloud, credentials=CountingCredentials()), office)
        async with _client(app) as client:
            stalls = Stalls()
            watching = asyncio.create_task(stalls.watch())
            asked = [
                asyncio.create_task(send(client, teams, in_person(teams, "vpn?", id=str(number))))
                for number in range(5)
            ]
            await asyncio.wait(asked, timeout=1.0)
            assert not any(task.done() for task in asked)
            may.set()
            assert [(await task).status for task in asked] == [200] * 5
            watching.cancel()
    assert stalls.longest < LONGEST_STALL_SECONDS


def _client(app: web.Application) -> Client:

    return TestClient(TestServer(app, host="127.0.0.1"))
