"""A server with scripted answers, and an HTTP proxy that tunnels by CONNECT."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.wiki import Wiki

TOKEN = "t0p-secret"
HASTY = RetryLimits(
    attempts=4,
    deadline_seconds=60.0,
    first_wait_seconds=0.01,
    longest_wait_seconds=0.02,
    jitter_seconds=0.0,
)
Answers = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class ScriptedServer:
    """What was asked: each target as it came, and the Authorization with it."""

    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def tokens(self) -> list[str | None]:
        return [token for _, token in self.asked]


@asynccontextmanager
async def scripted_server(
    answers: Answers, *, host: str = "127.0.0.1", serves: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """Answer at ``url`` until it is left; over TLS with ``serves``."""
    stand_in = ScriptedServer()

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


@asynccontextmanager
async def reading(
    url: str, *, token: str = TOKEN, ca_file: str | None = None
) -> AsyncIterator[Wiki]:
    """Read a site as Cloud with an OAuth token."""
    wiki = open_wiki(url=url, token=token, edition="cloud", ca_file=ca_file, patience=HASTY)
    try:
        yield wiki
    finally:
        await wiki.close()


def listing(*results: object, following: str = "") -> web.Response:
    """Return a list as both APIs answer it, going on at ``following``."""
    links = {"next": following} if following else {}
    return web.json_response({"results": list(results), "_links": links})


_PIECE = 1 << 16


@dataclass
class Tunnel:
    """Where the proxy is, and the heads of the requests that it got."""

    url: str = ""
    heads: list[str] = field(default_factory=list)

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        host, _, port = head.split(" ")[1].partition(":")
        there, onward = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pipe(reader, onward), _pipe(there, writer))


async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(_PIECE):
            sink.write(piece)
            await sink.drain()
    sink.close()
    with suppress(ConnectionError):
        await sink.wait_closed()


@asynccontextmanager
async def tunnelling() -> AsyncIterator[Tunnel]:
    """Lead through until it is left."""
    tunnel = Tunnel()
    server = await asyncio.start_server(tunnel.lead, "127.0.0.1", 0)
    async with server:
        tunnel.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield tunnel
