"""A receiver of webhooks that misbehaves as it is told, and a Zammad that takes tickets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass
class WebhookReceiver:
    """Takes events; ``behaviour`` is what it does with the next ones, then it answers 204.

    A number is a status, "close" closes the connection, "slow" answers when ``goes_on`` is set.
    """

    behaviour: list[int | str] = field(default_factory=list)
    arrived: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    moved: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.arrived]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.arrived]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve until the block ends; give the address."""
        app = web.Application()
        app.router.add_post("/hook", self._take)
        app.router.add_route("*", "/moved", self._moved)
        async with TestServer(app) as server:
            yield str(server.make_url("/hook"))

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.arrived.append((dict(request.headers), body))
        self.came.set()
        does = self.behaviour.pop(0) if self.behaviour else 204
        if does == "close":
            assert request.transport is not None
            request.transport.close()
        if does == "slow":
            await self.goes_on.wait()
        status = does if isinstance(does, int) else 204
        return web.Response(status=status, headers={"Location": "/moved"})

    async def _moved(self, _: web.Request) -> web.Response:
        self.moved += 1
        return web.Response()


@dataclass
class Zammad:
    """The tickets of a Zammad: each its state and the bodies of its articles."""

    tickets: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/api/v1/tickets", self._create)
        app.router.add_put("/api/v1/tickets/{id}", self._update)
        async with TestServer(app) as server:
            yield str(server.make_url("/")).rstrip("/")

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if request.headers["Authorization"] != "Token token=zammad-token":
            return web.json_response({"error": "Authentication required"}, status=403)
        assert {"title", "group", "customer_id", "article"} <= asked.keys()
        number = len(self.tickets) + 1
        self.tickets[number] = ("new", [asked["article"]["body"]])
        return web.json_response({"id": number}, status=201)

    async def _update(self, request: web.Request) -> web.Response:
        asked, number = await request.json(), int(request.match_info["id"])
        _, articles = self.tickets[number]
        self.tickets[number] = (asked["state"], [*articles, asked["article"]["body"]])
        return web.json_response({"id": number})
