"""A Microsoft Graph that runs here: people, their groups in pages, and faults on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

TOKEN = "token-for-graph"


@dataclass
class LocalGraph:
    """``groups`` by principal name; ``mails`` are principal names by mail address.

    ``troubles`` are answered first, one a request: a status and its headers.
    """

    groups: Mapping[str, Sequence[str | None]]
    mails: Mapping[str, Sequence[str]] = field(default_factory=dict)
    page: int = 2
    next_origin: str = ""
    troubles: deque[tuple[int, dict[str, str]]] = field(default_factory=deque)
    asked: list[str] = field(default_factory=list)
    origin: str = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalGraph]:
        app = web.Application()
        cast = "/v1.0/users/{person}/transitiveMemberOf/microsoft.graph.group"
        app.router.add_get(cast, self._groups)
        app.router.add_get("/v1.0/users", self._users)
        async with TestServer(app, host="127.0.0.1") as server:
            self.origin = str(server.make_url("")).rstrip("/")
            yield self

    async def _groups(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        person = request.match_info["person"].lower()
        if person not in self.groups:
            return web.json_response({"error": {"code": "Request_ResourceNotFound"}}, status=404)
        assert request.query["$select"] == "id,displayName"
        names, start = self.groups[person], int(request.query.get("$skiptoken", "0"))
        told = names[start : start + self.page]
        body: dict[str, object] = {
            "value": [{"id": f"id-{name}", "displayName": name} for name in told]
        }
        if start + self.page < len(names):
            origin = self.next_origin or self.origin
            query = f"$select=id,displayName&$skiptoken={start + self.page}"
            body["@odata.nextLink"] = f"{origin}{request.rel_url.raw_path}?{query}"
        return web.json_response(body)

    async def _users(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        wanted = request.query["$filter"]
        found = [
            name
            for mail, names in self.mails.items()
            if wanted == "mail eq '" + mail.replace("'", "''") + "'"
            for name in names
        ]
        return web.json_response({"value": [{"id": name} for name in found]})

    def _refused(self, request: web.Request) -> web.Response | None:
        self.asked.append(request.path)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(status=401)
        if not self.troubles:
            return None
        status, headers = self.troubles.popleft()
        return web.Response(status=status, headers=headers)
