"""A proxy that leads through to what it is asked for by CONNECT, and keeps how it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

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
