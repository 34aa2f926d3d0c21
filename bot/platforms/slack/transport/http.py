"""Serve Slack's events over HTTP: verify the signature, store in the inbox, acknowledge.

``mount`` is the adapter's entry point: with an app-level token it opens a socket instead, and no
route is served.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_sdk.signature import SignatureVerifier

from bot.chat.adapters import ChatContext
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.listeners import followers_of, listeners
from bot.platforms.slack.transport.dispatch import Dispatcher, Malformed, bolt_app, bolt_request
from bot.platforms.slack.transport.socket_mode import SocketMode, SocketTimeouts
from bot.platforms.slack.workspace.bot_identity import ServedWorkspace

_LARGEST = 1_000_000
_CHUNK = 65_536
_TYPES = frozenset({"application/json", "application/x-www-form-urlencoded"})
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


async def read_signed(request: web.Request, verifier: SignatureVerifier) -> bytes:
    """Return the body of a request that Slack signed within the last five minutes.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest (content type), HTTPUnauthorized.
    """
    if request.content_type not in _TYPES:
        raise web.HTTPBadRequest(text="Slack sends JSON or a form.")
    body = await _read_body(request)
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    # slack_sdk raises on a timestamp that is no number and on a non-ASCII signature.
    if not (_TIMESTAMP.fullmatch(timestamp) and _SIGNATURE.fullmatch(signature)):
        raise web.HTTPUnauthorized(text="The request is not signed.")
    if not _is_valid(verifier, body, timestamp, signature):
        raise web.HTTPUnauthorized(text="The signature is wrong or too old.")
    return body


async def _read_body(request: web.Request) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > _LARGEST:
            raise web.HTTPRequestEntityTooLarge(_LARGEST, len(body))
    return bytes(body)


def _is_valid(verifier: SignatureVerifier, body: bytes, timestamp: str, signature: str) -> bool:
    try:
        return verifier.is_valid(body, timestamp, signature)
    except UnicodeDecodeError:
        return False


PATH = "/slack/events"


def mount(
    app: web.Application,
    channel: SlackChannel,
    context: ChatContext,
    *,
    patience: SocketTimeouts = SocketTimeouts(),  # noqa: B008 - it is frozen
) -> None:
    """Receive Slack's events and hold the channel's session while an application runs.

    With an app-level token events come over a socket, and no route is served.
    """
    settings, background = channel.settings, channel.background
    followers = followers_of(channel, context)
    takers = listeners(
        channel, context, own=channel.own, background=background, followers=followers
    )
    bolt = bolt_app(settings, takers)
    intake = Dispatcher(bolt, ServedWorkspace(settings.slack_team_id, channel.own))
    app.cleanup_ctx.append(ConnectionLifetime(channel).running)
    followers.mount(app)
    if settings.slack_app_token is not None:
        SocketMode(
            intake,
            token=settings.slack_app_token.get_secret_value(),
            client=channel.client,
            caller=channel.caller,
            standing=channel.standing,
            patience=patience,
        ).mount(app)
    else:
        secret = settings.slack_signing_secret
        endpoint = Endpoint(intake, secret.get_secret_value() if secret else "")
        app.router.add_post(PATH, endpoint.handle)


class Endpoint:
    """The one HTTP endpoint for events, buttons and modals, and commands."""

    def __init__(self, intake: Dispatcher, secret: str) -> None:
        self._intake = intake
        self._verifier = SignatureVerifier(secret)

    async def handle(self, request: web.Request) -> web.Response:
        """Respond to a request; it is not acknowledged if the inbox did not store it."""
        raw = await read_signed(request, self._verifier)
        try:
            taken = bolt_request(raw.decode(), request.headers, mode="http")
        except (UnicodeDecodeError, Malformed) as error:
            raise web.HTTPBadRequest(text="The body is nothing that Slack sends.") from error
        return await to_aiohttp_response(await self._intake.take(taken))


class ConnectionLifetime:
    """Runs the channel's session and identity lookup for the server's lifetime."""

    def __init__(self, channel: SlackChannel) -> None:
        self._channel = channel

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Hold the session open, and resolve the bot's identity meanwhile."""
        async with self._channel.session():
            keeping = asyncio.create_task(self._channel.own.keep())
            yield
            # Background tasks may need the bot's identity, so they end first.
            await self._channel.background.finish()
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
