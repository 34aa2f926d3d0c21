"""The fake Slack's server: keeps what was posted, refuses what Slack refuses, fails on demand.

The workspace answers Slack's Web API under ``url``, takes answers at response addresses, hands
out files and keeps sockets. A ``Visitor`` (visitor.py) is a person in it; events.py makes bare
events for tests that need no person. There is no OAuth and no streaming: the bot uses neither.
What Slack refuses is refused here with Slack's code, and ``response_metadata`` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.fakes.slack import people, web_api
from tests.fakes.slack.exchange import (
    Request,
    arguments_of,
    broken_off,
    error,
    faulty_response,
)
from tests.fakes.slack.names import TOKEN
from tests.fakes.slack.state import Workspace
from tests.fakes.slack.web_api import download

Effect = Callable[[Workspace, dict[str, Any]], web.Response]
METHODS: dict[str, Effect] = {
    **web_api.LOOKUP_METHODS,
    **web_api.VIEW_METHODS,
    **web_api.CHAT_METHODS,
    **web_api.REACTION_METHODS,
    **web_api.READING_METHODS,
}


@dataclass
class FakeSlack(Workspace):
    """State and address of one workspace."""

    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeSlack]:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._handle)
        app.router.add_post("/response/{key}", self._respond)
        app.router.add_get("/files-pri/{id}/{name:.+}", self._download)
        app.router.add_get("/link", self.sockets.serve)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("/api/"))
            try:
                yield self
            finally:
                self._closing.set()
                await self.sockets.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await self._noted(method, request)
        refused = self._refused(method, request)
        if refused:
            return error(refused)
        return await self._faulty(request, method, lambda: self._answer(method, arguments))

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        arguments = await self._noted("response_url", request)
        key = request.match_info["key"]
        return await self._faulty(
            request, "response_url", lambda: web_api.respond(self, key, arguments)
        )

    async def _download(self, request: web.Request) -> web.StreamResponse:
        arguments = await self._noted("file", request)
        arguments["id"] = request.match_info["id"]
        may = not self._refused("file", request) and "files:read" in self.scopes
        return await self._faulty(request, "file", lambda: download(self, arguments, may=may))

    async def _noted(self, method: str, request: web.Request) -> dict[str, Any]:
        """Return the arguments of a call, which is counted even if it is refused later."""
        self.calls.append(method)
        arguments = await arguments_of(request)
        self.requests.append(Request(method, arguments, self.now()))
        return arguments

    def _refused(self, method: str, request: web.Request) -> str:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in {TOKEN, self.app_token}:
            return "invalid_auth"
        if self.lost:
            return self.lost
        wanted = self.app_token if method == "apps.connections.open" else TOKEN
        return "" if token == wanted else "not_allowed_token_type"

    async def _faulty(
        self, request: web.Request, method: str, answer: Callable[[], web.Response]
    ) -> web.StreamResponse:
        fault = self.faults[method].popleft() if self.faults[method] else None
        fault = fault or self.faults_by_number.pop(len(self.calls), None)
        if fault is None:
            return answer()
        if fault.seconds:
            await self._pause(fault.seconds)
        if fault.only_slow:
            return answer()
        if fault.kept is not None:
            return await broken_off(answer(), fault.kept, request)
        if fault.after:
            answer()
        return faulty_response(fault, request)

    async def _pause(self, seconds: float) -> None:
        """Let time pass, but no longer than the workspace is open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _answer(self, method: str, arguments: dict[str, Any]) -> web.Response:
        effect = METHODS.get(method)
        if effect is None:
            return error("unknown_method")
        wait = self.rates.wait(method, arguments) if self.strict_rates else 0
        if wait:
            return self._too_many(wait)
        lacking = people.missing(method, arguments, self.rooms, self.scopes)
        if lacking:
            return error("missing_scope", needed=lacking, provided=",".join(self.scopes))
        if refused := self.refused_fields & set(arguments):
            return error("invalid_arguments", *(f"no such field: {each}" for each in refused))
        try:
            return effect(self, arguments)
        except KeyError as missing:
            return error("invalid_arguments", f"missing required field: {missing}")

    def _too_many(self, wait: int) -> web.Response:
        self.refused_for_rate += 1
        answer = error("ratelimited")
        answer.set_status(429)
        answer.headers["Retry-After"] = str(wait)
        return answer
