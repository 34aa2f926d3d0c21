"""Somebody who asks the local Confluence without any client of ours, to test it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession
from yarl import URL

from tests.confluence.call import Json
from tests.confluence.server import LocalConfluence


@dataclass(frozen=True)
class Heard:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - it is whatever was sent
        return json.loads(self.body)


@dataclass(frozen=True)
class Asker:
    """A person with a token at one server."""

    session: ClientSession
    server: LocalConfluence

    async def heard(self, path: str, **query: str) -> Heard:
        """Return what is answered, redirects too."""
        return await self._at(f"{self.server.url}{path}", query)

    async def get(self, path: str, **query: str) -> Json:
        """Return what is answered, which must be well."""
        heard = await self.heard(path, **query)
        assert heard.status == 200, heard.body
        told: Json = heard.json()
        return told

    async def post(self, path: str, body: Json) -> Heard:
        async with self.session.post(f"{self.server.url}{path}", json=body) as answer:
            return Heard(answer.status, answer.headers, await answer.read())

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

    async def _at(self, url: str, query: Mapping[str, str]) -> Heard:
        asked = URL(url, encoded=True).update_query(query)
        async with self.session.get(asked, allow_redirects=False) as answer:
            return Heard(answer.status, answer.headers, await answer.read())
