"""The local Confluence over HTTP: sign-in by token, routing, faults and streamed files."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.utils import format_datetime
from urllib.parse import unquote

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.fakes.confluence import cloud, data_center, writing
from tests.fakes.confluence.content import Person
from tests.fakes.confluence.faults import Fault, Faults
from tests.fakes.confluence.requests import Answer, Call, Edition, Json, Options, Refusal, Route
from tests.fakes.confluence.site import Site


@dataclass(frozen=True)
class TokenSignIn:
    """Says who a request is from, as each edition takes tokens.

    Cloud: e-mail and API token at the site; Bearer, or both, by the gateway. Data Center: a
    personal access token as Bearer. Nobody signed in is anonymous; a wrong token is refused.
    """

    site: Site
    edition: Edition
    revoked: Collection[str]

    def person(self, authorization: str, *, gateway: bool) -> Person | None:
        scheme, _, credentials = authorization.partition(" ")
        if not authorization:
            return None
        if scheme == "Bearer" and (gateway or self.edition == "data-center"):
            return self._known(credentials)
        if scheme == "Basic" and self.edition == "cloud":
            email, token = _basic(credentials)
            person = self._known(token)
            if person.email == email:
                return person
        raise Refusal(401, f"Basic or Bearer authentication failed ({scheme})")

    def _known(self, token: str) -> Person:
        for person in self.site.people.values():
            if person.token == token and person.handle not in self.revoked:
                return person
        raise Refusal(401, "Unauthorized")


def _basic(credentials: str) -> tuple[str, str]:
    try:
        email, _, token = base64.b64decode(credentials).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refusal(401, "Unauthorized") from error
    return email, token


ROUTES: Mapping[Edition, tuple[Route, ...]] = {
    "cloud": (*cloud.V2_ROUTES, *cloud.V1_ROUTES, *writing.CLOUD_ROUTES),
    "data-center": (
        *data_center.CONTENT_ROUTES,
        *data_center.PEOPLE_ROUTES,
        *writing.DATA_CENTER_ROUTES,
    ),
}
GATEWAY = "/ex/confluence/11223344-a1b2-4b33-8444-def123456789"
"""What comes before the context where OAuth tokens are taken."""
FAILURE = "com.atlassian.confluence.api.service.exceptions"


@dataclass
class Request:
    """A request as it came, without what is secret. ``status`` 0: it got no answer."""

    kind: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    person: str | None = None
    status: int = 0


@dataclass(frozen=True)
class Address:
    """Where a site is: ``origin`` is scheme and host, ``context`` what its paths begin with."""

    origin: str
    context: str
    media: str


@dataclass
class RequestHandler:
    """Answers for one edition of a site."""

    site: Site
    edition: Edition
    faults: Faults
    options: Options = field(default_factory=Options)
    revoked: set[str] = field(default_factory=set)

    def route(self, method: str, path: str, context: str) -> tuple[Route | None, str]:
        """Return the door that a path leads to, and the path without gateway and context."""
        if self.edition == "cloud":
            path = path.removeprefix(GATEWAY)
        if not path.startswith(f"{context}/"):
            return None, path
        inside = path.removeprefix(context)
        for each in ROUTES[self.edition]:
            if method == each.method and each.pattern.match(inside):
                return each, inside
        return None, inside

    def answer(
        self, seen: Request, route: Route | None, address: Address, credentials: str, body: Json
    ) -> Answer:
        """Return what is answered; what no Confluence knows is noted."""
        _, inside = self.route(seen.method, seen.path, address.context)
        gateway = self.edition == "cloud" and seen.path.startswith(GATEWAY)
        try:
            person = TokenSignIn(self.site, self.edition, self.revoked).person(
                credentials, gateway=gateway
            )
            seen.person = person.handle if person else None
            call = Call(
                site=self.site,
                person=person,
                edition=self.edition,
                base=f"{address.origin}{address.context}",
                context=address.context,
                path=inside,
                names=_names(route, inside),
                sent=seen.query,
                body=body,
                media=address.media,
                oauth=gateway,
                options=self.options,
            )
            return _known(seen, route).effect(self.faults.seen(call, self.site))
        except Refusal as refusal:
            if refusal.unexpected:
                self.site.unexpected.append(f"{seen.method} {seen.path}: {refusal}")
            return Answer(_error(inside, refusal), refusal.status)


def _names(route: Route | None, path: str) -> dict[str, str]:
    found = route.pattern.match(path) if route else None
    return {name: unquote(text) for name, text in found.groupdict().items()} if found else {}


def _known(seen: Request, route: Route | None) -> Route:
    if route is None:
        raise Refusal(404, f"there is no {seen.method} {seen.path}", unexpected=True)
    unknown = set(seen.query) - route.params
    if unknown:
        raise Refusal(400, f"{route.kind} has no {sorted(unknown)}", unexpected=True)
    return route


def _error(path: str, refusal: Refusal) -> Json:
    """Return the body of a refusal, as each API writes it."""
    if path.startswith("/api/v2/"):
        code = {400: "INVALID_REQUEST_PARAMETER", 404: "NOT_FOUND"}.get(refusal.status, "ERROR")
        told = {"status": refusal.status, "code": code, "title": str(refusal), "detail": None}
        return {"errors": [told]}
    return {
        "statusCode": refusal.status,
        "data": {"authorized": refusal.status not in {401, 403}, "valid": True, "errors": []},
        "message": f"{FAILURE}.Refusal: {refusal}",
    }


PIECE = 1 << 16


@dataclass(frozen=True)
class MediaRequest:
    """What the media host got. It has no business with anybody's token."""

    path: str
    authorized: bool


async def stream(
    request: web.Request, file: tuple[bytes, int], headers: Mapping[str, str], kept: int | None
) -> web.StreamResponse:
    """Send so many bytes, saying first how many; break the connection after ``kept``."""
    content, size = file
    answer = web.StreamResponse(headers=dict(headers))
    answer.content_length = size
    await answer.prepare(request)
    block = content * (PIECE // len(content) + 1) if content else b""
    left = min(size, kept) if kept is not None else size
    while left > 0 and block:
        await answer.write(block[:left])
        left -= min(left, len(block))
    if kept is not None and kept < size:
        cut_off(request)
    return answer


async def broken_off(
    request: web.Request, text: bytes, kept: int, headers: Mapping[str, str]
) -> web.StreamResponse:
    """Send the first bytes of an answer that promises more, and break the connection."""
    json = {"Content-Type": "application/json"}
    return await stream(request, (text, len(text)), {**headers, **json}, min(kept, len(text) - 1))


def cut_off(request: web.Request) -> None:
    """Break the connection of a request."""
    if request.transport:
        request.transport.close()


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
    def desk(self) -> RequestHandler:
        return RequestHandler(self.site, self.edition, self.faults, self.options, self.revoked)

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
