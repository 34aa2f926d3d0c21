"""Slack's events, over HTTP or over a socket: kept by the inbox first, acknowledged after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_sdk.signature import SignatureVerifier

from bot.adapters.slack.arriving.dispatch import bolt_app
from bot.adapters.slack.arriving.intake import Intake
from bot.adapters.slack.arriving.socket_mode import Patience, Socket
from bot.adapters.slack.arriving.tenancy import Tenancy
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.commands.ordering import followers_of
from bot.adapters.slack.joining import listeners
from bot.adapters.slack.wire.requests import Malformed, bolt_request
from bot.adapters.slack.wire.signing import read_signed
from bot.chat.adapters import ChatContext

PATH = "/slack/events"


def mount(
    app: web.Application,
    channel: SlackChannel,
    office: ChatContext,
    *,
    patience: Patience = Patience(),  # noqa: B008 - it is frozen
) -> None:
    """Take what Slack sends, and hold the channel's connections open, while an application runs.

    With an app-level token events come over a socket, and nothing is served.
    """
    settings, errands = channel.settings, channel.errands
    followers = followers_of(channel, office)
    takers = listeners(channel, office, own=channel.own, errands=errands, followers=followers)
    bolt = bolt_app(settings, takers)
    intake = Intake(bolt, Tenancy(settings.slack_team_id, channel.own))
    app.cleanup_ctx.append(Presence(channel).running)
    followers.mount(app)
    if settings.slack_app_token is not None:
        Socket(
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
    """The one address for events, buttons and forms, and commands."""

    def __init__(self, intake: Intake, secret: str) -> None:
        self._intake = intake
        self._verifier = SignatureVerifier(secret)

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request; what the inbox did not keep is not acknowledged."""
        raw = await read_signed(request, self._verifier)
        try:
            taken = bolt_request(raw.decode(), request.headers, mode="http")
        except (UnicodeDecodeError, Malformed) as error:
            raise web.HTTPBadRequest(text="The body is nothing that Slack sends.") from error
        return await to_aiohttp_response(await self._intake.take(taken))


class Presence:
    """What lasts as long as the server runs."""

    def __init__(self, channel: SlackChannel) -> None:
        self._channel = channel

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Hold the session, and learn meanwhile who the bot is."""
        async with self._channel.session():
            keeping = asyncio.create_task(self._channel.own.keep())
            yield
            # Errands may ask who the bot is.
            await self._channel.errands.finish()
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
