"""The server itself: ``async with SearchService().serving() as service`` and ``service.url``."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.fakes.search_service.indexes import Aliases, Indexes
from tests.fakes.search_service.operations import (
    Access,
    Answer,
    Call,
    Fault,
    Faults,
    Kept,
    Operation,
    find,
)
from tests.fakes.search_service.protocol import Json, Refused, bad_parameter

API_VERSIONS = frozenset({"2024-07-01", "2025-09-01", "2026-04-01"})
_RECEIVED = 256 * 1024 * 1024
"""What is read of a request before it is refused for its size: more than any test sends."""


@dataclass(slots=True)
class Request:
    """What was asked, and what was answered: 0 while it is not, or never."""

    kind: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    bytes: int
    status: int = 0


@dataclass(slots=True)
class SearchService:
    """An Azure AI Search of its own.

    Args:
        tls: How it serves https, without which no bearer token is taken.
        now: The clock by which what is written becomes visible.
        takes_text_ranges: Whether filters may compare texts by order: the documentation of its
            operators says that they may not, that of paging that they may.
    """

    tls: ssl.SSLContext | None = None
    now: Callable[[], float] = time.monotonic
    takes_text_ranges: bool = True
    access: Access = field(default_factory=Access)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    _kept: Kept = field(init=False)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._kept = Kept(Indexes(self.now), takes_text_ranges=self.takes_text_ranges)

    @property
    def faults(self) -> Faults:
        return self._kept.faults

    @property
    def aliases(self) -> Aliases:
        return self._kept.aliases

    @property
    def indexes(self) -> Indexes:
        return self._kept.indexes

    def documents(self, index: str) -> dict[str, Json]:
        """Return what was written to an index or alias, by key, with what is never shown."""
        return dict(self._kept.documents_of(index).written)

    def count(self, kind: str) -> int:
        """Return how often a call was made, refused ones too."""
        return sum(request.kind == kind for request in self.requests)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[SearchService]:
        """Serve on a free port of this machine."""
        app = web.Application(client_max_size=_RECEIVED)
        app.router.add_route("*", "/{path:.*}", self._serve)
        scheme = "https" if self.tls else "http"
        server = TestServer(app, host="127.0.0.1", scheme=scheme)
        await server.start_server(ssl=self.tls)
        try:
            self.url = f"{scheme}://localhost:{server.port}"
            yield self
        finally:
            self._closing.set()
            await server.close()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refused as refused:
            self._note(request, refused.status)
            return web.json_response(refused.body(), status=refused.status, headers=refused.headers)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        operation, call, size = await self._read(request)
        self._note_call(request, operation, call, size)
        _check_version(request.query)
        self.access.check(request.headers, operation.right, secure=self.tls is not None)
        fault = self.faults.next_of(operation.kind)
        if fault is not None:
            await self._suffer(fault, request)
        if size > self.faults.largest_body:
            raise Refused(413, "", "The request body is too large.")
        answer = operation.do(self._kept, call)
        if fault is not None and fault.cut == "after":
            _cut(request)
        self._note(request, answer.status)
        return _response(answer)

    async def _read(self, request: web.Request) -> tuple[Operation, Call, int]:
        operation, match = find(request.method, unquote(request.raw_path.partition("?")[0]))
        raw = await request.read()
        found = {
            name: match[name] or match[f"{name}_"]
            for name in ("name", "key")
            if name in match.re.groupindex
        }
        call = Call(
            found.get("name", ""),
            found.get("key", ""),
            request.query,
            request.headers,
            _json(raw),
        )
        return operation, call, len(raw)

    def _note_call(self, request: web.Request, operation: Operation, call: Call, size: int) -> None:
        noted = Request(
            operation.kind,
            request.method,
            request.path,
            dict(request.query),
            dict(request.headers),
            call.body,
            size,
        )
        request["noted"] = noted
        self.requests.append(noted)

    def _note(self, request: web.Request, status: int) -> None:
        if "noted" in request:
            request["noted"].status = status

    async def _suffer(self, fault: Fault, request: web.Request) -> None:
        if fault.hang:
            await self._closing.wait()
        await asyncio.sleep(fault.seconds)
        if fault.cut == "before" or fault.hang:
            _cut(request)
        refusal = fault.refusal()
        if refusal is not None:
            raise refusal


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError


def _json(raw: bytes) -> Json:
    try:
        body: Any = json.loads(raw) if raw else {}
    except ValueError:
        raise bad_parameter("The request body is no JSON.") from None
    if not isinstance(body, dict):
        raise bad_parameter("The request body is no JSON object.")
    return body


def _check_version(query: Mapping[str, str]) -> None:
    version = query.get("api-version")
    if version is None:
        raise Refused(400, "MissingApiVersionParameter", "The api-version is required.")
    if version not in API_VERSIONS:
        known = ", ".join(sorted(API_VERSIONS))
        said = f"Invalid or unsupported api-version {version!r}; here are {known}."
        raise Refused(400, "InvalidApiVersionParameter", said)


def _response(answer: Answer) -> web.Response:
    if answer.body is None:
        return web.Response(status=answer.status)
    if isinstance(answer.body, int):
        return web.Response(text=str(answer.body), status=answer.status)
    return web.json_response(answer.body, status=answer.status)
