"""Slack's events over HTTP: kept by the inbox first, acknowledged after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.dispatch import bolt_app
from bot.adapters.slack.errands import Errands
from bot.adapters.slack.events import Event, team_of
from bot.adapters.slack.joining import listeners
from bot.adapters.slack.own import Own
from bot.adapters.slack.signing import parse, read_signed
from bot.office import Office

PATH = "/slack/events"

_AT_ONCE = 16
"""An event costs some milliseconds of the loop; a herd of them must leave room for others. Who
waits here too long for Slack is kept all the same, and acknowledged when it is sent again."""

log = structlog.get_logger(__name__)


def mount(app: web.Application, channel: SlackChannel, office: Office) -> None:
    """Serve the channel's events on an application, and hold its connections open."""
    endpoint = Endpoint(channel, office)
    app.router.add_post(PATH, endpoint.handle)
    app.cleanup_ctx.append(endpoint.running)


class Endpoint:
    """The way from a request to those who take it, through Bolt."""

    def __init__(self, channel: SlackChannel, office: Office) -> None:
        settings = channel.settings
        self._channel = channel
        secret = settings.slack_signing_secret
        self._verifier = SignatureVerifier(secret.get_secret_value() if secret else "")
        self._few = asyncio.Semaphore(_AT_ONCE)
        self._own = Own(channel.client)
        self._errands = Errands()
        takers = listeners(channel, office, own=self._own, errands=self._errands)
        self._bolt = bolt_app(settings, takers)

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request; what the inbox did not keep is not acknowledged."""
        raw = await read_signed(request, self._verifier)
        body = parse(request, raw)
        if body.get("type") == "event_callback" and not self._serves(body):
            raise web.HTTPForbidden(headers={"X-Slack-No-Retry": "1"})
        async with self._few:
            response = await self._bolt.async_dispatch(_bolt_request(request, raw))
        return await to_aiohttp_response(response)

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Hold the session while the server runs, and learn the bot's own id meanwhile."""
        async with self._channel.session():
            learning = asyncio.create_task(self._own.learn())
            yield
            await self._errands.finish()
            learning.cancel()
            with suppress(asyncio.CancelledError):
                await learning

    def _serves(self, body: Event) -> bool:
        wanted, team = self._channel.settings.slack_team_id, team_of(body)
        if wanted is None or wanted == team:
            return True
        log.warning("slack.workspace_refused", team=team, cure="Set SLACK_TEAM_ID to serve it.")
        return False


def _bolt_request(request: web.Request, raw: bytes) -> AsyncBoltRequest:
    try:
        return AsyncBoltRequest(
            body=raw.decode(), query=request.query_string, headers={**request.headers}
        )
    except ValueError as error:
        raise web.HTTPBadRequest(text="The form holds no JSON.") from error
