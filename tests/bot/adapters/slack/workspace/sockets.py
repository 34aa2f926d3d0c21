"""Socket Mode: links to the bot, envelopes over them, and what it acknowledged."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.answers import Answer, Json
from tests.bot.adapters.slack.workspace.tickets import Tickets

MOST_LINKS = 10
_TRIES = 4


@dataclass(frozen=True)
class Ack:
    """What the bot sent back for an envelope; ``payload`` is None when there was none."""

    envelope_id: str
    payload: Json | None


@dataclass
class Sockets:
    """The links of the bot to the workspace; a door for visitors.

    An event that is not acknowledged within ``ack_seconds`` is sent again, three times at most.
    """

    tickets: Tickets
    ack_seconds: float = 3.0
    link_seconds: float = 5.0
    opened: int = 0
    acks: list[Ack] = field(default_factory=list)
    sent: list[Json] = field(default_factory=list)
    _links: dict[web.WebSocketResponse, web.Request] = field(default_factory=dict)
    _waiting: dict[str, asyncio.Future[Ack | None]] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Take a link that has a ticket, and listen to its acknowledgements."""
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets.sockets:
            raise web.HTTPForbidden
        self.tickets.sockets.remove(ticket)
        link = web.WebSocketResponse()
        await link.prepare(request)
        if len(self._links) >= MOST_LINKS:
            await link.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await link.close()
            return link
        await self._greet(link, request)
        try:
            await self._listen(link)
        finally:
            await self._forget(link)
        return link

    async def linked(self, *, opened: int = 1) -> None:
        """Wait until the bot holds a link, and has opened so many in all."""
        async with asyncio.timeout(self.link_seconds), self._changed:
            await self._changed.wait_for(lambda: bool(self._links) and self.opened >= opened)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the bot to come again on another link; Slack closes the old one soon after."""
        for link in list(self._links):
            await link.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})
            await link.close()

    def drop(self) -> None:
        """Break every link without a word."""
        for request in self._links.values():
            if request.transport:
                request.transport.abort()

    async def close(self) -> None:
        """End every link."""
        for link in list(self._links):
            await link.close()

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        """Send an event until it is acknowledged; ``attempt`` is how often it was sent before."""
        began = time.monotonic()
        for number in range(attempt, _TRIES):
            reason = "timeout" if number else ""
            retry = {"retry_attempt": number, "retry_reason": reason}
            ack = await self._try("events_api", {"payload": envelope, **retry}, accepts=False)
            if ack:
                return _answer(ack, began)
        return Answer(0, "", time.monotonic() - began)

    async def interact(self, payload: Json) -> Answer:
        began = time.monotonic()
        return _answer(await self._try("interactive", {"payload": payload}, accepts=True), began)

    async def command(self, form: Mapping[str, str]) -> Answer:
        began = time.monotonic()
        fields: Json = {"payload": dict(form)}
        return _answer(await self._try("slash_commands", fields, accepts=True), began)

    async def _try(self, kind: str, fields: Json, *, accepts: bool) -> Ack | None:
        """Send an envelope on the newest link; return None when nobody acknowledged it."""
        key = f"e{next(self._numbers):06d}"
        frame = {"envelope_id": key, "type": kind, "accepts_response_payload": accepts, **fields}
        await self.linked()
        answered = self._waiting[key] = asyncio.get_running_loop().create_future()
        self.sent.append(frame)
        with suppress(ConnectionError, TimeoutError):
            await list(self._links)[-1].send_json(frame)
            return await asyncio.wait_for(answered, self.ack_seconds)
        return None

    async def _greet(self, link: web.WebSocketResponse, request: web.Request) -> None:
        hello = {
            "type": "hello",
            "num_connections": len(self._links) + 1,
            "connection_info": {"app_id": names.APP},
            "debug_info": {"host": "applink", "approximate_connection_time": 18060},
        }
        await link.send_json(hello)
        async with self._changed:
            self._links[link] = request
            self.opened += 1
            self._changed.notify_all()

    async def _listen(self, link: web.WebSocketResponse) -> None:
        async for message in link:
            if message.type is WSMsgType.TEXT and message.data.startswith("{"):
                self._acknowledged(json.loads(message.data))

    def _acknowledged(self, frame: Json) -> None:
        ack = Ack(str(frame.get("envelope_id")), frame.get("payload"))
        self.acks.append(ack)
        waiting = self._waiting.pop(ack.envelope_id, None)
        if waiting and not waiting.done():
            waiting.set_result(ack)

    async def _forget(self, link: web.WebSocketResponse) -> None:
        async with self._changed:
            del self._links[link]
            self._changed.notify_all()
        if not self._links:
            self._unanswered()

    def _unanswered(self) -> None:
        """Nobody is left who could acknowledge what is under way."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()


def _answer(ack: Ack | None, began: float) -> Answer:
    text = json.dumps(ack.payload) if ack and ack.payload else ""
    return Answer(200 if ack else 0, text, time.monotonic() - began)
