"""Teams' activities over HTTP: kept by the inbox first, acknowledged after, answered later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

import structlog
from aiohttp import web
from botbuilder.core import TurnContext
from botbuilder.schema import Activity

from bot.adapters.teams.channel import TeamsChannel
from bot.adapters.teams.errors import KeysUnavailable
from bot.adapters.teams.inbound import Body, conversation_of, message_of, person_of, text_at
from bot.adapters.teams.keys import SigningKeys
from bot.errors import BotError, FeedbackInvalid
from bot.feedback import LONGEST_COMMENT, judgement
from bot.office import Office
from bot.ports import Inbox, Interactions
from bot.types import PostedRef

PATH = "/api/messages"

_LARGEST = 1_000_000
_CHUNK = 65_536
_ACCEPT_SECONDS = 10.0
"""Teams takes an answer within 15 s."""

_SENDERS = 32
"""botbuilder sends in the default threads, of which there would be CPUs + 4."""

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_VOTES: Mapping[str, Literal["up", "down"]] = {"like": "up", "dislike": "down"}

log = structlog.get_logger(__name__)


def mount(app: web.Application, channel: TeamsChannel, office: Office) -> None:
    """Serve the channel's activities."""
    endpoint = Endpoint(channel, office.inbox, office.interactions)
    app.router.add_post(PATH, endpoint.handle)
    app.cleanup_ctx.append(endpoint.running)


class Endpoint:
    """The way from a request to the inbox, through botbuilder."""

    def __init__(self, channel: TeamsChannel, inbox: Inbox, interactions: Interactions) -> None:
        self._channel = channel
        self._inbox = inbox
        self._interactions = interactions

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request; botbuilder's own handler fails on every answer with a body."""
        body = await _read(request)
        activity = _activity(body)
        header = request.headers.get("Authorization", "")
        admitted = await self._channel.gatekeeper.admit(header, body, activity)

        async def turn(_: TurnContext) -> None:
            await self._take(body)

        try:
            async with asyncio.timeout(_ACCEPT_SECONDS):
                await self._channel.adapter.process_activity(admitted, activity, turn)
        except (BotError, TimeoutError) as error:
            log.warning("teams.not_kept", error=type(error).__name__)
            return web.Response(status=503)
        except Exception:
            log.exception("teams.not_kept")
            return web.Response(status=503)
        return web.json_response({}) if body.get("type") == "invoke" else web.Response()

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Make room for sends, and fetch the signing keys while the server already runs."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_SENDERS))
        keys = self._channel.keys
        fetching = asyncio.create_task(_prefetch(keys)) if keys else None
        yield
        if fetching:
            fetching.cancel()
            with suppress(asyncio.CancelledError):
                await fetching

    async def _take(self, body: Body) -> None:
        if text_at(body, "name") == "message/submitAction":
            await self._rate(body)
        message = message_of(
            body, tenant=self._channel.settings.tenant, received_at=datetime.now(UTC)
        )
        if message is not None:
            await self._inbox.accept(message)

    async def _rate(self, body: Body) -> None:
        """Keep a thumb on an answer of ours."""
        vote = _VOTES.get(text_at(body, "value", "actionValue", "reaction"))
        if vote is None:
            return
        ref = PostedRef(conversation_of(body), text_at(body, "replyToId"))
        found = await self._interactions.find_posted(self._channel.settings.tenant, ref)
        if found is None:
            log.info("teams.feedback_unmatched")
            return
        with suppress(FeedbackInvalid):
            given = judgement(found.id, person_of(body).id, vote, comment=_comment(body))
            await self._interactions.rate(given)


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


async def _read(request: web.Request) -> Body:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Teams sends JSON.")
    raw = bytearray()
    async for chunk in request.content.iter_chunked(_CHUNK):
        raw += chunk
        if len(raw) > _LARGEST:
            raise web.HTTPRequestEntityTooLarge(_LARGEST, len(raw))
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text="The body is not JSON.") from error
    if not isinstance(body, dict) or not text_at(body, "type"):
        raise web.HTTPBadRequest(text="The body is no activity.")
    return body


def _activity(body: Body) -> Activity:
    try:
        return Activity().deserialize({**body})
    except Exception as error:  # msrest raises many kinds for a field of a wrong type
        raise web.HTTPBadRequest(text="The body is no activity.") from error


def _comment(body: Body) -> str:
    """Return the words with a thumb; Teams sends them as JSON in a string, others plainly."""
    given = text_at(body, "value", "actionValue", "feedback")
    try:
        parsed = json.loads(given)
    except ValueError:
        return given[:LONGEST_COMMENT]
    return (text_at(parsed, "feedbackText") if isinstance(parsed, dict) else given)[
        :LONGEST_COMMENT
    ]
