"""The fake Teams' server: keeps what it is sent, refuses what Teams refuses, fails on demand.

The tenant answers the connector's REST API under ``url``, and issues the tokens that the bot
service signs with. A ``Visitor`` (visitor.py) is a person in it; activities.py makes bare
activities for tests that need no person.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from tests.fakes.teams import connector_api
from tests.fakes.teams.connector_api import Call
from tests.fakes.teams.credentials import published_keys, signed_token
from tests.fakes.teams.exchange import SLOW, Fault, Refused, error_response, faulty_response
from tests.fakes.teams.names import ISSUER
from tests.fakes.teams.state import Tenant

Effect = Callable[[], web.Response]
_ACTIVITIES = "/v3/conversations/{conversation}/activities"
_MEMBERS = "/v3/conversations/{conversation}/members"


@dataclass
class FakeTeams(Tenant):
    """State and addresses of one tenant's Teams; ``bodies`` are all that the bot sent, as sent.

    Connections are closed after each response unless ``keeps_connections``: tests make clients that
    nobody closes. ``peers`` are the addresses that called.
    """

    keys: dict[str, RSAPrivateKey] = field(default_factory=dict)
    endorsed: tuple[str, ...] = ("msteams",)
    keys_down: bool = False
    keeps_connections: bool = False
    peers: set[object] = field(default_factory=set)
    bodies: list[Mapping[str, Any]] = field(default_factory=list)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeTeams]:
        app = web.Application()
        app.router.add_post("/v3/conversations", self._create)
        app.router.add_post(_ACTIVITIES, self._take)
        app.router.add_post(f"{_ACTIVITIES}/{{activity}}", self._take)
        app.router.add_put(f"{_ACTIVITIES}/{{activity}}", self._update)
        app.router.add_delete(f"{_ACTIVITIES}/{{activity}}", self._delete)
        app.router.add_get("/v3/conversations/{conversation}/pagedmembers", self._paged)
        app.router.add_get(f"{_MEMBERS}/{{member}}", self._member)
        app.router.add_get("/meta", self._metadata)
        app.router.add_get("/keys", self._keys)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("")).rstrip("/")
            try:
                yield self
            finally:
                self._closing.set()

    def token(self, *, key_id: str = "k1", **changes: object) -> str:
        """Sign a token as the bot service does; a claim of None is left out."""
        return signed_token(self.url, self.keys[key_id], key_id, changes)

    def new_key(self, key_id: str) -> None:
        self.keys[key_id] = generate_private_key(public_exponent=65537, key_size=2048)

    async def _take(self, request: web.Request) -> web.Response:
        activity = await self._body(request)
        call = _call(request)
        return await self._answered(
            request,
            str(activity["type"]),
            lambda: _posted(connector_api.post_activity(self, call, activity)),
        )

    async def _update(self, request: web.Request) -> web.Response:
        activity = await self._body(request)
        call = _call(request)
        return await self._answered(
            request,
            "update",
            lambda: web.json_response(connector_api.update_activity(self, call, activity)),
        )

    async def _delete(self, request: web.Request) -> web.Response:
        call = _call(request)

        def effect() -> web.Response:
            connector_api.delete_activity(self, call)
            return web.Response()

        return await self._answered(request, "delete", effect)

    async def _create(self, request: web.Request) -> web.Response:
        wanted = await self._body(request)
        token = request.headers.get("Authorization", "")
        return await self._answered(
            request,
            "create",
            lambda: web.json_response(
                connector_api.create_conversation(self, wanted, token), status=201
            ),
        )

    async def _body(self, request: web.Request) -> Any:  # noqa: ANN401  # any JSON
        body = json.loads(await request.text())
        self.bodies.append(body)
        return body

    async def _member(self, request: web.Request) -> web.Response:
        where, who = request.match_info["conversation"], request.match_info["member"]
        return await self._told(
            request, "member", lambda: connector_api.show_member(self, where, who)
        )

    async def _paged(self, request: web.Request) -> web.Response:
        where, query = request.match_info["conversation"], request.query
        size, token = int(query.get("pageSize") or 0), query.get("continuationToken", "")
        return await self._told(
            request, "members", lambda: connector_api.page_of_members(self, where, size, token)
        )

    async def _told(self, request: web.Request, call: str, tell: Callable[[], Any]) -> web.Response:
        return await self._answered(request, call, lambda: web.json_response(tell()))

    async def _answered(self, request: web.Request, call: str, effect: Effect) -> web.Response:
        if request.transport is not None:
            self.peers.add(request.transport.get_extra_info("peername"))
        response = await self._faulty_or_done(request, call, effect)
        if not self.keeps_connections:
            response.force_close()
        return response

    async def _faulty_or_done(
        self, request: web.Request, call: str, effect: Effect
    ) -> web.Response:
        self.calls.append(call)
        fault = self.faults[call].popleft() if self.faults[call] else None
        fault = fault or self.faults_by_number.pop(len(self.calls), None)
        if fault is None:
            return self._too_many(request, call) or _done(effect)
        if fault.seconds:
            await self._pause(fault.seconds)
        if fault.status == SLOW:
            return _done(effect)
        if fault.after:
            _done(effect)
        return faulty_response(fault, request)

    def _too_many(self, request: web.Request, call: str) -> web.Response | None:
        where = request.match_info.get("conversation", "")
        wait = self.rates.wait(call, where) if self.strict_rates and where else 0
        if not wait:
            return None
        self.refused_for_rate += 1
        return faulty_response(Fault(429, retry_after=str(wait), code="TooManyRequests"), request)

    async def _pause(self, seconds: float) -> None:
        """Let time pass, but no longer than the tenant is open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    async def _metadata(self, _: web.Request) -> web.Response:
        self.calls.append("meta")
        if self.keys_down:
            return web.Response(status=503)
        return web.json_response({"issuer": ISSUER, "jwks_uri": f"{self.url}/keys"})

    async def _keys(self, _: web.Request) -> web.Response:
        return web.json_response(published_keys(self.keys, self.endorsed))


def _call(request: web.Request) -> Call:
    return Call(
        request.match_info["conversation"],
        request.match_info.get("activity"),
        request.headers.get("Authorization", ""),
    )


def _posted(told: dict[str, Any]) -> web.Response:
    """What goes on with a stream is taken, and told no id."""
    return web.json_response(told, status=201 if told else 202)


def _done(effect: Effect) -> web.Response:
    try:
        return effect()
    except Refused as refused:
        return error_response(refused.code, status=refused.status, message=refused.message)
