"""Serve Teams' activities over HTTP: stored in the inbox, acknowledged, answered later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import structlog
from aiohttp import web
from botbuilder.core import TurnContext
from botbuilder.schema import Activity

from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, RateExceeded
from bot.domain.urls import is_loopback_host
from bot.platforms.teams.client.errors import KeysUnavailable
from bot.platforms.teams.payloads.activity import Body, Json, text_at
from bot.platforms.teams.transport.auth import InboundAuth, SigningKeys
from bot.platforms.teams.transport.dispatch import Dispatch, take_when_store_is_back

_LARGEST_BODY = 1_000_000
_CHUNK = 65_536
_ACCEPT_SECONDS = 10.0
"""Teams waits 15 s for a response."""

_PLAIN_FIELDS = ("type", "id", "channelId", "serviceUrl")
_PARTY_FIELDS = ("from", "recipient", "conversation")
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0

log = structlog.get_logger(__name__)


class Endpoint:
    """Handles requests from Teams through botbuilder."""

    def __init__(
        self, inbound: InboundAuth, background: BackgroundTasks, dispatch: Dispatch
    ) -> None:
        self._inbound = inbound
        self._background = background
        self._dispatch = dispatch

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one request; botbuilder's own handler fails for every response with a body."""
        if self._inbound.keys is None:
            _check_host(request)
        authenticator, header = self._inbound.authenticator, _authorization(request)
        await authenticator.check(header)
        body = await _read_body(request)
        activity = _activity(body)
        admitted = await authenticator.admit(header, body, activity)
        answers: list[Json] = []

        async def turn(_: TurnContext) -> None:
            answers.append(await take_when_store_is_back(self._dispatch.take, body))

        try:
            async with asyncio.timeout(_ACCEPT_SECONDS):
                await self._inbound.adapter.process_activity(admitted, activity, turn)
        except RateExceeded:
            # Acknowledged: it was logged and counted, and Teams would only redeliver it.
            return web.Response()
        except (BotError, TimeoutError) as error:
            log.warning("teams.not_kept", error=type(error).__name__)
            return web.Response(status=503)
        except Exception:
            log.exception("teams.not_kept")
            return web.Response(status=503)
        if body.get("type") != "invoke":
            return web.Response()
        return web.json_response(dict(answers[0]) if answers else {})

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Fetch the signing keys in the background while the server already runs."""
        keys = self._inbound.keys
        fetching = asyncio.create_task(_prefetch(keys)) if keys else None
        yield
        await self._background.finish()
        if fetching:
            fetching.cancel()
            with suppress(asyncio.CancelledError):
                await fetching


async def _prefetch(keys: SigningKeys) -> None:
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            await keys.prefetch()
        except KeysUnavailable as error:
            log.warning("teams.keys_unavailable", error=str(error))
        else:
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _check_host(request: web.Request) -> None:
    """Reject host names other than this machine's: in development no signature protects it."""
    transport, hosts = request.transport, request.headers.getall("Host", [])
    own = transport.get_extra_info("sockname") if transport is not None else None
    if own is None or len(hosts) != 1 or not is_loopback_host(hosts[0], own[1]):
        raise web.HTTPForbidden(text=f"The host {', '.join(hosts)!r} is not this server's.")


def _authorization(request: web.Request) -> str:
    """Return the Authorization header; "" if there are two, one of them for a proxy."""
    said = request.headers.getall("Authorization", [])
    return said[0] if len(said) == 1 else ""


async def _read_body(request: web.Request) -> Body:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Teams sends JSON.")
    raw = bytearray()
    async for chunk in request.content.iter_chunked(_CHUNK):
        raw += chunk
        if len(raw) > _LARGEST_BODY:
            raise web.HTTPRequestEntityTooLarge(_LARGEST_BODY, len(raw))
    try:
        body = json.loads(raw)
        if b"\\ud" in raw.lower():
            body = _without_half_surrogates(body)
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text="The body is not JSON.") from error
    if not isinstance(body, dict) or not text_at(body, "type"):
        raise web.HTTPBadRequest(text="The body is no activity.")
    return body


def _without_half_surrogates(body: object) -> object:
    """Replace lone surrogates, which are no characters and can't be encoded later."""
    raw = json.dumps(body, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(raw.decode("utf-16-le", "replace"))


def _activity(body: Body) -> Activity:
    """Return the activity with only the fields that botbuilder needs.

    Deserializing all of it would fail on unused fields with a wrong type.
    """
    read = {key: body[key] for key in _PLAIN_FIELDS if key in body}
    parties = {key: _party(body[key]) for key in _PARTY_FIELDS if key in body}
    try:
        return Activity().deserialize({**read, **parties})
    except Exception as error:  # msrest raises many kinds for a field of a wrong type
        raise web.HTTPBadRequest(text="The body is no activity.") from error


def _party(value: object) -> object:
    return {"id": text_at(value, "id")} if isinstance(value, Mapping) else value
