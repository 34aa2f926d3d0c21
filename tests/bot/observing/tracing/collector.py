"""A collector on a real socket that answers, is slow, or is overloaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Collector:
    """``status`` is what it answers, after ``wait_seconds``."""

    status: int = 200
    wait_seconds: float = 0.0
    url: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.headers.append(dict(request.headers))
        self.came.set()
        await asyncio.sleep(self.wait_seconds)
        if self.status == web.HTTPOk.status_code:
            self.requests.append(ExportTraceServiceRequest.FromString(body))
        return web.Response(status=self.status)

    @property
    def names(self) -> list[str]:
        return [
            span.name
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, str]:
        """What the first request says of who sends it."""
        attributes = self.requests[0].resource_spans[0].resource.attributes
        return {each.key: each.value.string_value for each in attributes}


@asynccontextmanager
async def collecting(collector: Collector) -> AsyncIterator[Collector]:
    """Serve until the block ends."""
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    async with TestServer(app, host="127.0.0.1") as server:
        collector.url = f"http://127.0.0.1:{server.port}"
        yield collector
