"""A small server that answers as a test says and keeps who asked, with which token."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

Answers = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class StandIn:
    """What was asked: each target as it came, and the Authorization with it."""

    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def tokens(self) -> list[str | None]:
        return [token for _, token in self.asked]


@asynccontextmanager
async def standing_in(
    answers: Answers, *, host: str = "127.0.0.1", serves: ssl.SSLContext | None = None
) -> AsyncIterator[StandIn]:
    """Answer at ``url`` until it is left; over TLS with ``serves``."""
    stand_in = StandIn()

    async def handle(request: web.Request) -> web.StreamResponse:
        stand_in.asked.append((request.raw_path, request.headers.get("Authorization")))
        return await answers(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    server = TestServer(app, host=host, scheme="https" if serves else "http")
    await server.start_server(ssl=serves)
    try:
        stand_in.url = f"{server.scheme}://{host}:{server.port}"
        yield stand_in
    finally:
        await server.close()


def listing(*results: object, following: str = "") -> web.Response:
    """Return a list as both APIs answer it, going on at ``following``."""
    links = {"next": following} if following else {}
    return web.json_response({"results": list(results), "_links": links})
