"""A SharePoint under its own name, from which people's files are fetched.

Who fetches from it is given ``connector()``, by which every name leads here; ``requests`` says
who came for what, and with which headers.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from tests.fakes.certificates import certificate_for

HOST = "acme-my.sharepoint.com"
ELSEWHERE = "evil.example"
FILE_TYPE = "application/vnd.microsoft.teams.file.download.info"
_PATH = "/personal/alice_acme_example/_layouts/15/download.aspx"


@dataclass(frozen=True)
class FileFault:
    """What happens to the next download.

    ``moved_to`` is a redirect. ``kept`` is how many bytes arrive before the connection breaks.
    ``unannounced`` leaves the length out, ``seconds`` pass before anything arrives.
    """

    status: int = 200
    moved_to: str = ""
    kept: int | None = None
    unannounced: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class Fetched:
    """A request for a file."""

    host: str
    headers: Mapping[str, str]


@dataclass
class FileHost:
    """Files by their id, and the requests for them."""

    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    requests: list[Fetched] = field(default_factory=list)
    faults: deque[FileFault | None] = field(default_factory=deque)
    port: int = 0
    _trusts: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FileHost]:
        app = web.Application()
        app.router.add_get(_PATH, self._download)
        with TemporaryDirectory() as directory:
            serves, self._trusts = certificate_for(Path(directory), HOST, ELSEWHERE)
        server = TestServer(app, host="127.0.0.1", scheme="https")
        await server.start_server(ssl=serves)
        self.port = int(server.port or 0)
        try:
            yield self
        finally:
            self._closing.set()
            await server.close()

    def share(self, name: str, content: bytes, *, host: str = HOST) -> dict[str, Any]:
        """Keep a file; return it as Teams attaches it to a message in a personal chat."""
        unique_id = str(uuid4())
        self.files[unique_id] = (name, content)
        address = f"https://{host}{_PATH}?UniqueId={unique_id}&tempauth=v1.eyJzaXRl"
        return {
            "contentType": FILE_TYPE,
            "contentUrl": f"https://{host}/personal/alice_acme_example/Documents/{name}",
            "name": name,
            "content": {
                "downloadUrl": address,
                "uniqueId": unique_id,
                "fileType": name.rpartition(".")[2],
            },
        }

    def connector(self) -> aiohttp.TCPConnector:
        """Return a way out that ends here, whatever name is asked for; its user closes it."""
        return aiohttp.TCPConnector(resolver=_AllHere(self.port), ssl=self._trusts)

    def fail(self, *faults: FileFault | None) -> None:
        self.faults.extend(faults)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        unique_id = request.query.get("UniqueId", "")
        self.requests.append(Fetched(request.host, dict(request.headers)))
        fault = (self.faults.popleft() if self.faults else None) or FileFault()
        with suppress(TimeoutError):
            async with asyncio.timeout(fault.seconds):
                await self._closing.wait()
        if fault.moved_to:
            return web.Response(status=302, headers={"Location": fault.moved_to})
        if fault.status != 200 or unique_id not in self.files:
            return web.Response(status=404 if fault.status == 200 else fault.status)
        return await self._sent(request, self.files[unique_id][1], fault)

    async def _sent(
        self, request: web.Request, content: bytes, fault: FileFault
    ) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        if not fault.unannounced:
            answer.content_length = len(content)
        await answer.prepare(request)
        await answer.write(content if fault.kept is None else content[: fault.kept])
        if fault.kept is not None:
            assert request.transport
            request.transport.close()
        return answer


class _AllHere(AbstractResolver):
    """Every name is this machine, at one port."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            {
                "hostname": host,
                "host": "127.0.0.1",
                "port": self._port,
                "family": socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
        ]

    async def close(self) -> None:
        return
