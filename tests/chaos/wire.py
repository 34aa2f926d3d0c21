"""The way from the servers to Slack, and what goes wrong on it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import aiohttp
import numpy as np
from aiohttp import web
from aiohttp.test_utils import TestServer

Trouble = Literal["none", "cut after", "cut before", "500 after", "500 before", "429"]

_POST = "chat.postMessage"
_LOOK_UP = frozenset({"conversations.replies", "conversations.history"})
_TROUBLES: tuple[Trouble, ...] = (
    "none",
    "cut after",
    "cut before",
    "500 after",
    "500 before",
    "429",
)
_SHARES: Mapping[str, tuple[float, ...]] = {
    "post": (0.85, 0.04, 0.02, 0.04, 0.02, 0.03),
    "first post": (0.4, 0.2, 0.1, 0.15, 0.05, 0.1),
    "look-up": (0.88, 0.0, 0.04, 0.0, 0.04, 0.04),
}
"""How often each trouble comes: at any post, at the first post after a kill, at a look-up."""

_BEFORE_SECONDS = 0.03
_AFTER_SECONDS = 0.3
"""At most so long a post is on its way, and its answer on the way back."""


class Wire:
    """A proxy before a Slack: slow around each post, and sometimes broken at the worst moment.

    ``stormy`` turns both on. ``forgetful`` hides what look-ups need, so that a check that finds
    repeated replies can be seen to find them.
    """

    def __init__(self, target: str, draw: np.random.Generator, *, forgetful: bool = False) -> None:
        self._target = target
        self._draw = draw
        self._forgetful = forgetful
        self._after_kill = False
        self._session: aiohttp.ClientSession | None = None
        self.stormy = False
        self.url = ""
        self.troubles: Counter[Trouble] = Counter()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Wire]:
        """Run the proxy until the block ends."""
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._handle)
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            aiohttp.ClientSession(connector=connector) as self._session,
            TestServer(app, host="127.0.0.1") as server,
        ):
            self.url = str(server.make_url("/api/"))
            yield self

    def after_kill(self) -> None:
        """Make trouble likely at the next post."""
        self._after_kill = True

    async def _handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        body = await request.read()
        trouble = self._trouble(method)
        if trouble in {"cut before", "500 before", "429"}:
            return _broken(request, trouble)
        slow = self.stormy and method == _POST
        await asyncio.sleep(self._draw.random() * _BEFORE_SECONDS if slow else 0)
        answer = await self._forward(request, method, body)
        await asyncio.sleep(self._draw.random() * _AFTER_SECONDS if slow else 0)
        return answer if trouble == "none" else _broken(request, trouble)

    def _trouble(self, method: str) -> Trouble:
        if not self.stormy or method not in {_POST, *_LOOK_UP}:
            return "none"
        kind = "look-up"
        if method == _POST:
            kind = "first post" if self._after_kill else "post"
            self._after_kill = False
        trouble = _TROUBLES[int(self._draw.choice(len(_TROUBLES), p=_SHARES[kind]))]
        if trouble != "none":
            self.troubles[trouble] += 1
        return trouble

    async def _forward(self, request: web.Request, method: str, body: bytes) -> web.Response:
        assert self._session is not None
        passed = ("Authorization", "Content-Type")
        async with self._session.request(
            request.method,
            self._target + method,
            params=request.query,
            data=body,
            headers={name: request.headers[name] for name in passed if name in request.headers},
        ) as answer:
            content = await answer.read()
            if self._forgetful and method in _LOOK_UP:
                content = _without_metadata(content)
            scopes = {n: v for n, v in answer.headers.items() if n.lower() == "x-oauth-scopes"}
            return web.Response(
                body=content,
                status=answer.status,
                headers=scopes,
                content_type="application/json",
            )


def _broken(request: web.Request, trouble: Trouble) -> web.Response:
    match trouble:
        case "cut before" | "cut after":
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        case "429":
            said = {"ok": False, "error": "ratelimited"}
            return web.json_response(said, status=429, headers={"Retry-After": "1"})
        case _:
            return web.json_response({"ok": False, "error": "internal_error"}, status=500)


def _without_metadata(content: bytes) -> bytes:
    answer = json.loads(content)
    for message in answer.get("messages", ()):
        message.pop("metadata", None)
    return json.dumps(answer).encode()
