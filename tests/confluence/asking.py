"""Somebody who asks the local Confluence without any client of ours, to test it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from aiohttp import ClientResponse, ClientSession

from tests.confluence.call import Json
from tests.confluence.server import LocalConfluence


@dataclass(frozen=True)
class Asker:
    """A person with a token at one server."""

    session: ClientSession
    server: LocalConfluence

    async def response(self, path: str, **query: str) -> ClientResponse:
        """Return an answer as it is; its body has been read."""
        url = f"{self.server.url}{path}"
        async with self.session.get(url, params=query, allow_redirects=False) as answer:
            await answer.read()
            return answer

    async def get(self, path: str, **query: str) -> Json:
        """Return what is answered, which must be well."""
        answer = await self.response(path, **query)
        assert answer.status == 200, await answer.text()
        told: Json = await answer.json()
        return told

    async def status(self, path: str, **query: str) -> int:
        return (await self.response(path, **query)).status

    async def every(self, path: str, **query: str) -> list[Any]:
        """Return all of a list, following its links as each API means them."""
        page = await self.get(path, **query)
        found = list(page["results"])
        while "next" in page["_links"]:
            following = page["_links"]["next"]
            newer = "/api/v2/" in following
            base = self.server.address.origin if newer else page["_links"]["base"]
            async with self.session.get(
                urljoin(base, following) if newer else base + following
            ) as answer:
                page = await answer.json()
            found += page["results"]
        return found
