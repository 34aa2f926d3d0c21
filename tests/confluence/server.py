"""A Confluence that runs here: answers over HTTP what a site holds, and fails on demand.

``serving()`` opens it; ``url`` is what CONFLUENCE_URL would be. Requests are known by kind
(``count("page")``): space-pages, page, restriction, content-search and so on, as the routes
name them. What no Confluence knows is answered 400 or 404 and noted in ``site.unexpected``.
Shapes are recorded ones where there were recordings; what is guessed says so where it is made.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.utils import format_datetime

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.confluence.answering import GATEWAY, Address, Desk, Request
from tests.confluence.call import Answer, Edition, Options
from tests.confluence.faults import Fault, Faults
from tests.confluence.media import MediaRequest, broken_off, cut_off, stream
from tests.confluence.site import Site

__all__ = ["LocalConfluence", "Request"]

NEARLY = {
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "15",
    "X-RateLimit-NearLimit": "true",
}


@dataclass
class LocalConfluence:
    """One edition of a site, at an address. Two servers may share a site.

    ``options`` are its oddities, ``faults`` what goes wrong; both may change while it serves.
    ``revoked`` are people whose tokens are no longer taken.
    """

    site: Site
    edition: Edition = "cloud"
    context: str = "/confluence"
    options: Options = field(default_factory=Options)
    faults: Faults = field(default_factory=Faults)
    requests: list[Request] = field(default_factory=list)
    media_requests: list[MediaRequest] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    most_at_once: int = 0
    address: Address = field(default_factory=lambda: Address("", "", ""))
    _at_once: int = 0
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """The site's address with its context, no slash at the end."""
        return f"{self.address.origin}{self.address.context}"

    @property
    def gateway(self) -> str:
        """Where OAuth tokens are taken, as api.atlassian.com/ex/confluence/ID; Cloud's alone."""
        return f"{self.address.origin}{GATEWAY}"

    @property
    def desk(self) -> Desk:
        return Desk(self.site, self.edition, self.faults, self.options, self.revoked)

    def count(self, kind: str) -> int:
        """Return how many requests of a kind there were."""
        return sum(request.kind == kind for request in self.requests)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalConfluence]:
        """Answer at ``url`` until it is left."""
        wiki, media = web.Application(), web.Application()
        wiki.router.add_route("*", "/{path:.*}", self._handle)
        media.router.add_get("/file/{id}/binary", self._file)
        context = "/wiki" if self.edition == "cloud" else self.context
        async with (
            TestServer(media, host="127.0.0.1") as files,
            TestServer(wiki, host="127.0.0.1") as server,
        ):
            origin, host = (str(each.make_url("")).rstrip("/") for each in (server, files))
            self.address = Address(origin, context, host)
            try:
                yield self
            finally:
                self._closing.set()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answered(request)
        finally:
            self._at_once -= 1

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        route, _ = self.desk.route(request.method, request.rel_url.raw_path, self.address.context)
        seen = self._noted(route.kind if route else "unknown", request)
        fault = self.faults.met(seen.kind)
        await self._pause(fault.seconds)
        if fault.instead:
            seen.status = fault.status or (200 if fault.page else 0)
            return self._fault(fault, request)
        credentials = request.headers.get("Authorization", "")
        body = await request.json() if request.can_read_body else {}
        answer = self.desk.answer(seen, route, self.address, credentials, body)
        seen.status = answer.status
        return await self._sent(answer, fault, request)

    def _noted(self, kind: str, request: web.Request) -> Request:
        headers = {k: v for k, v in request.headers.items() if k.lower() != "authorization"}
        query = {name: ",".join(request.query.getall(name)) for name in request.query}
        seen = Request(kind, request.method, request.rel_url.raw_path, query, headers)
        self.requests.append(seen)
        return seen

    async def _sent(self, answer: Answer, fault: Fault, request: web.Request) -> web.StreamResponse:
        headers = {**self._headers(), **answer.headers, **fault.headers}
        if answer.file:
            return await stream(request, answer.file, headers, fault.kept)
        text = json.dumps(answer.body).encode() if answer.body is not None else b""
        following = answer.body.get("_links", {}).get("next") if _is_list(answer.body) else None
        if following and "/api/v2/" in request.path:
            headers["Link"] = f'<{following}>; rel="next"'
        if fault.kept is not None and not fault.short:
            return await broken_off(request, text, fault.kept, headers)
        return web.Response(
            body=text[: fault.kept],
            status=answer.status,
            headers=headers,
            content_type="application/json",
        )

    def _fault(self, fault: Fault, request: web.Request) -> web.Response:
        if fault.status == 0:
            cut_off(request)
        headers = {**self._headers(), **fault.headers}
        if fault.page:
            return web.Response(
                text=fault.page,
                status=fault.status or 200,
                headers=headers,
                content_type="text/html",
            )
        told = {"statusCode": fault.status, "message": "it went wrong"}
        return web.json_response(told, status=fault.status or 500, headers=headers)

    def _headers(self) -> dict[str, str]:
        nearly = NEARLY if self.options.get("near_limit") else {}
        return {"Date": format_datetime(self.site.now, usegmt=True), **nearly}

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """The media host: hands out to whoever has the ticket."""
        self.media_requests.append(MediaRequest(request.path, _authorized(request)))
        fault = self.faults.met("media")
        await self._pause(fault.seconds)
        if fault.instead:
            return self._fault(fault, request)
        number = request.match_info["id"]
        file = self.site.attachment(number)
        if request.query.get("token") != f"once-{number}":
            return web.Response(status=403)
        headers = {"Content-Type": file.media_type}
        return await stream(request, (file.content, file.size), headers, fault.kept)

    async def _pause(self, seconds: float) -> None:
        """Let time pass, but no longer than the server is open."""
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()


def _is_list(body: object) -> bool:
    return isinstance(body, dict) and "results" in body


def _authorized(request: web.Request) -> bool:
    return "Authorization" in request.headers or "Cookie" in request.headers
