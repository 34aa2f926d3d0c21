"""A small site served as Cloud and as Data Center, and people who call its APIs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession, encode_basic_auth
from yarl import URL

from tests.fakes.confluence.requests import Json
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site


@dataclass(frozen=True)
class ApiResponse:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - it is whatever was sent
        return json.loads(self.body)


@dataclass(frozen=True)
class ApiClient:
    """A person with a token at one server."""

    session: ClientSession
    server: LocalConfluence

    async def heard(self, path: str, **query: str) -> ApiResponse:
        """Return what is answered, redirects too."""
        return await self._at(f"{self.server.url}{path}", query)

    async def get(self, path: str, **query: str) -> Json:
        """Return what is answered, which must be well."""
        heard = await self.heard(path, **query)
        assert heard.status == 200, heard.body
        told: Json = heard.json()
        return told

    async def post(self, path: str, body: Json) -> ApiResponse:
        async with self.session.post(f"{self.server.url}{path}", json=body) as answer:
            return ApiResponse(answer.status, answer.headers, await answer.read())

    async def status(self, path: str, **query: str) -> int:
        return (await self.heard(path, **query)).status

    async def every(self, path: str, **query: str) -> list[Any]:
        """Return all of a list, following its links as each API means them."""
        page = await self.get(path, **query)
        found = list(page["results"])
        while "next" in page["_links"]:
            following = page["_links"]["next"]
            newer = "/api/v2/" in following
            base = self.server.address.origin if newer else page["_links"]["base"]
            page = (await self._at(f"{base}{following}", {})).json()
            found += page["results"]
        return found

    async def _at(self, url: str, query: Mapping[str, str]) -> ApiResponse:
        asked = URL(url, encoded=True).update_query(query)
        async with self.session.get(asked, allow_redirects=False) as answer:
            return ApiResponse(answer.status, answer.headers, await answer.read())


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
async def cloud(site: Site) -> AsyncIterator[LocalConfluence]:
    async with LocalConfluence(site).serving() as server:
        yield server


@pytest.fixture
async def data_center(site: Site) -> AsyncIterator[LocalConfluence]:
    async with LocalConfluence(site, "data-center").serving() as server:
        yield server


@pytest.fixture
async def rita(cloud: LocalConfluence) -> AsyncIterator[ApiClient]:
    """Rita Reader at Cloud."""
    person = cloud.site.people["rita"]
    token = encode_basic_auth(person.email, person.token)
    async with ClientSession(headers={"Authorization": token}) as session:
        yield ApiClient(session, cloud)


@pytest.fixture
async def admin(cloud: LocalConfluence) -> AsyncIterator[ApiClient]:
    """The admin at Cloud."""
    person = cloud.site.people["admin"]
    token = encode_basic_auth(person.email, person.token)
    async with ClientSession(headers={"Authorization": token}) as session:
        yield ApiClient(session, cloud)


@pytest.fixture
async def pat(data_center: LocalConfluence) -> AsyncIterator[ApiClient]:
    """Rita Reader at Data Center."""
    token = f"Bearer {data_center.site.people['rita'].token}"
    async with ClientSession(headers={"Authorization": token}) as session:
        yield ApiClient(session, data_center)
