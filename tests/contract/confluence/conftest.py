"""A small site served as Cloud and as Data Center, and people who call its APIs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession, encode_basic_auth

from tests.fakes.confluence.requests import Json
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site


@dataclass(frozen=True)
class ApiClient:
    """A person with a token at one server."""

    session: ClientSession
    server: LocalConfluence

    async def get(self, path: str, **query: str) -> Json:
        """Return what is answered, which must be well."""
        async with self.session.get(f"{self.server.url}{path}", params=query) as answer:
            assert answer.status == 200, await answer.read()
            told: Json = await answer.json()
            return told


@pytest.fixture
def site() -> Site:
    """A space for staff, one for everybody, and one that the reader may not view."""
    site = Site()
    site.add_person("rita", name="Rita Reader", email="rita@acme.example", email_shown=True)
    site.add_person("otto", name="Otto Other")
    site.add_group("staff", ["rita", "otto", "admin"])
    site.add_group("board", ["admin"])
    site.add_space("IT", name="Information Technology", groups=["staff"])
    site.add_space("PUB", name="Public", anonymous=True)
    site.add_space("HR", name="Human Resources", groups=["board"])
    return site


@pytest.fixture
async def rita(site: Site) -> AsyncIterator[ApiClient]:
    """Rita Reader at Cloud."""
    person = site.people["rita"]
    token = encode_basic_auth(person.email, person.token)
    async with (
        LocalConfluence(site).serving() as server,
        ClientSession(headers={"Authorization": token}) as session,
    ):
        yield ApiClient(session, server)


@pytest.fixture
async def pat(site: Site) -> AsyncIterator[ApiClient]:
    """Rita Reader at Data Center."""
    token = f"Bearer {site.people['rita'].token}"
    async with (
        LocalConfluence(site, "data-center").serving() as server,
        ClientSession(headers={"Authorization": token}) as session,
    ):
        yield ApiClient(session, server)
