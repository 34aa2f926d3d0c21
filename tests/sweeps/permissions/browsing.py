"""A colleague with a browser and the API: asks, and looks at every view that there is."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp import web

from tests.sweeps.permissions.application import ADDRESS, Served
from tests.sweeps.permissions.company import ADMIN, EXPERT, address

_LINK = re.compile(r'(?:href|hx-get|src)="([^"]+)"')
_EXCHANGE = re.compile(r'id="x-([^"]+)"')
_LEFT_OUT = ("/static/", "/docs", "/openapi.json", "/session", "/health", "/ready")
_ALL_SO_FAR = b"event: present"
"""A stream sends this after what is so far, and changes afterwards."""

_STREAM_SECONDS = 0.05
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Shown:
    """What somebody was shown at an address; ``before`` stood there already, for the same."""

    where: str
    text: str
    status: int = 200
    before: str = ""


@dataclass
class Colleague:
    """Somebody at the web, with cookies of their own; ``exchanges`` are theirs, by conversation."""

    name: str
    served: Served
    session: aiohttp.ClientSession
    exchanges: list[tuple[str, str]] = field(default_factory=list)

    @property
    def base(self) -> str:
        return str(self.served.client.make_url("/")).rstrip("/")

    async def sign_in(self) -> None:
        """Sign in at the issuer, as whom the company knows."""
        issuer = self.served.issuer
        issuer.who = claims_of(self)
        async with self.session.get(f"{self.base}/session/oidc", allow_redirects=False) as response:
            there = response.headers["Location"]
        back = await issuer.approve(there)
        async with self.session.get(
            back.replace(ADDRESS, self.base), allow_redirects=False
        ) as response:
            assert response.status == 303, await response.text()

    async def be_asked_about(self) -> None:
        """Have the issuer asked about this person now."""
        self.served.issuer.who = claims_of(self)
        await self.get("/history")

    async def get(self, path: str) -> str:
        return (await self._read(path)).text

    async def _read(self, path: str) -> Shown:
        async with self.session.get(f"{self.base}{path}") as response:
            return Shown(path, await response.text(), response.status)

    async def ask_api(self, text: str, conversation: str, version: str) -> list[Shown]:
        """Ask by the API, and look at the answer once more."""
        asked = {"question": text, "conversation_id": conversation, "show_pipeline": True}
        async with self.session.post(f"{self.base}/api/{version}/ask", json=asked) as response:
            body = await response.text()
            assert response.status in {200, 504}, body
            interaction = str((await response.json(content_type=None))["interaction_id"])
        self.exchanges.append((conversation, interaction))
        seen = [Shown(f"/api/{version}/ask", body)]
        path = f"/api/{version}/interactions/{interaction}?show_pipeline=true"
        if response.status == 504:
            seen.append(await self._polled(path))
        return seen

    async def _polled(self, path: str) -> Shown:
        """Ask for an answer that takes long until it is there, as a client does."""
        while (seen := await self._read(path)).status == 202:  # noqa: ASYNC110 - as a client does
            await asyncio.sleep(_PAUSE_SECONDS)
        assert seen.status == 200, seen.text
        return seen

    async def ask_page(self, text: str, conversation: str) -> list[Shown]:
        """Ask in the web chat, and poll as the page does."""
        form, headers = {"question": text}, {"Origin": self.base, "HX-Request": "true"}
        async with self.session.post(
            f"{self.base}/chat/{conversation}", data=form, headers=headers
        ) as response:
            bubble = await response.text()
        found = _EXCHANGE.search(bubble)
        assert found, bubble
        self.exchanges.append((conversation, found[1]))
        path, seen = f"/chat/{conversation}/{found[1]}", [Shown("/chat", bubble)]
        while not seen[1:] or 'class="answer working"' in seen[-1].text:
            seen.append(Shown(path, await self.get(path)))
        return [*seen, Shown(f"{path}/why", await self.get(f"{path}/why"))]

    async def post(self, path: str, **form: str) -> Shown:
        """Press a button of a page."""
        headers = {"Origin": self.base, "HX-Request": "true"}
        async with self.session.post(f"{self.base}{path}", data=form, headers=headers) as response:
            return Shown(path, await response.text(), response.status)

    async def look_around(self, known: Known, most: int) -> list[Shown]:
        """Open every route with what is known, and follow links, ``most`` views at most."""
        about = [*_routes(self.served, known)]
        self.served.company.draw.shuffle(about)
        waiting = deque([*_routes(self.served, Known()), *self._own(), *about])
        seen: dict[str, Shown] = {}
        while waiting and len(seen) < most:
            path = waiting.popleft()
            if path not in seen:
                seen[path] = await self._open(path)
                waiting.extend(link for link in _links(seen[path]) if link not in seen)
        return [*seen.values()]

    def _own(self) -> Iterator[str]:
        for conversation, interaction in self.exchanges[-3:]:
            yield f"/c/{conversation}"
            yield f"/chat/{conversation}/{interaction}"
            yield f"/chat/{conversation}/{interaction}/why"
            for version in ("v1", "v2"):
                yield f"/api/{version}/interactions/{interaction}?show_pipeline=true"

    async def _open(self, path: str) -> Shown:
        if not path.endswith("/events"):
            return await self._read(path)
        heard = b""
        try:
            async with (
                asyncio.timeout(None) as limit,
                self.session.get(f"{self.base}{path}") as response,
            ):
                async for line in response.content:
                    heard += line
                    if line.startswith(_ALL_SO_FAR):
                        limit.reschedule(asyncio.get_running_loop().time() + _STREAM_SECONDS)
        except TimeoutError:
            pass
        return Shown(path, heard.decode())


def claims_of(colleague: Colleague) -> dict[str, object]:
    """Return what the issuer says of somebody now."""
    name = colleague.name
    roles = {ADMIN: ["desk-admins"], EXPERT: ["desk-experts"]}.get(name, [])
    return {
        "sub": name,
        "name": name.title(),
        "email": address(name),
        "email_verified": True,
        "groups": [*sorted(colleague.served.company.groups_of(name)), *roles],
    }


@dataclass(frozen=True)
class Known:
    """What somebody may have heard of: exchanges of anybody by conversation, and pages."""

    exchanges: Sequence[tuple[str, str]] = ()
    pages: Sequence[tuple[str, str]] = ()

    def values(self, names: Collection[str]) -> Iterator[Mapping[str, str]]:
        """Yield values of a route's parameters, none for what is found by links alone."""
        if not names:
            yield {}
        elif "space" in names:
            for space, page in self.pages:
                yield {"space": space, "page": page, "id": page}
        else:
            for conversation, interaction in self.exchanges:
                yield {"conversation": conversation, "id": interaction}


def _routes(served: Served, known: Known) -> Iterator[str]:
    """Yield the address of every route that is read, with values of its parameters."""
    application = served.client.server.app  # type: ignore[attr-defined]  # a TestServer has one
    assert isinstance(application, web.Application)
    for resource in application.router.resources():
        reads = any(route.method == "GET" for route in resource)
        canonical = resource.canonical
        if not reads or canonical.startswith(_LEFT_OUT):
            continue
        names = re.findall(r"{(\w+)}", canonical)
        for values in known.values(names):
            if set(names) <= values.keys():
                yield canonical.format(**values)


def _links(shown: Shown) -> Iterator[str]:
    for link in _LINK.findall(shown.text):
        parts = urlsplit(urljoin(shown.where, unescape(link)))
        if not parts.netloc and parts.path and not parts.path.startswith(_LEFT_OUT):
            yield f"{parts.path}?{parts.query}" if parts.query else parts.path
