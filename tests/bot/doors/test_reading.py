"""What somebody who is signed in may read is asked of the directory, each time pages are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.typedefs import Handler

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.web.auth.identity import DIRECTORY, IDENTITIES, SIGNED_IN, Identities, principals_of
from rag.types import EVERYONE, Principal
from tests.bot.server import settings_for

ANN = Person("oidc-1", email="ann@acme.example", principals=frozenset({Principal("group:hr")}))
THERE = Principal("user:confluence:1")


class Joined:
    """Implements Directory: adds an account to whoever has an address."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        assert tenant == "acme"
        return person.principals | ({THERE} if person.email else frozenset())


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize(
    ("person", "known"), [(ANN, {"group:hr", THERE, EVERYONE}), (Person("v"), {EVERYONE})]
)
async def test_the_directory_says_what_is_shown(
    tmp_path: Path, person: Person, known: set[str], *, joined: bool
) -> None:
    @web.middleware
    async def sign_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[SIGNED_IN] = SignedIn("oidc", "expert", person)
        return await handler(request)

    async def show(request: web.Request) -> web.Response:
        return web.json_response(sorted(await principals_of(request, "acme")))

    app = web.Application(middlewares=[sign_in])
    app[IDENTITIES] = Identities(settings_for(tmp_path))
    if joined:
        app[DIRECTORY] = Joined()
    app.router.add_get("/", show)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        told = set(await (await client.get("/")).json())

    assert told == (known if joined else known - {THERE})
