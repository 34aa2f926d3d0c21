"""Slack's events over HTTP: kept by the inbox first, acknowledged after."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

import aiohttp
import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import error_code
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.events import Event, bot_users_of, message_of, team_of
from bot.adapters.slack.signing import parse, read_signed
from bot.config import Settings
from bot.errors import BotError
from bot.office import Office
from bot.ports import Inbox

PATH = "/slack/events"

_ACCEPT_SECONDS = 2.5
"""Slack takes an answer within 3 s; after this it had better try again."""

_AT_ONCE = 16
"""An event costs some milliseconds of the loop; a herd of them must leave room for others. Who
waits here too long for Slack is kept all the same, and acknowledged when it is sent again."""

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_HOPELESS = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked"})

Authorize = Callable[..., Awaitable[AuthorizeResult]]

log = structlog.get_logger(__name__)


def mount(app: web.Application, channel: SlackChannel, office: Office) -> None:
    """Serve the channel's events on an application, and hold its connections open."""
    endpoint = Endpoint(channel, office.inbox)
    app.router.add_post(PATH, endpoint.handle)
    app.cleanup_ctx.append(endpoint.running)


class Endpoint:
    """The way from a request to the inbox, through Bolt."""

    def __init__(self, channel: SlackChannel, inbox: Inbox) -> None:
        settings = channel.settings
        self._channel = channel
        self._inbox = inbox
        self._bot_users: frozenset[str] = frozenset()
        secret = settings.slack_signing_secret
        signing_secret = secret.get_secret_value() if secret else ""
        self._verifier = SignatureVerifier(signing_secret)
        self._few = asyncio.Semaphore(_AT_ONCE)
        self._bolt = _bolt(signing_secret, settings)
        self._bolt.event("app_mention")(self._on_message)
        self._bolt.event("message")(self._on_message)
        self._bolt.event(re.compile(".*"))(_acknowledge)
        self._bolt.error(_refuse)

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
            learning = asyncio.create_task(self._learn_own_id())
            yield
            learning.cancel()
            with suppress(asyncio.CancelledError):
                await learning

    def _serves(self, body: Event) -> bool:
        wanted, team = self._channel.settings.slack_team_id, team_of(body)
        if wanted is None or wanted == team:
            return True
        log.warning("slack.workspace_refused", team=team, cure="Set SLACK_TEAM_ID to serve it.")
        return False

    async def _on_message(self, body: dict[str, object], event: dict[str, object]) -> None:
        message = message_of(
            event,
            tenant=self._channel.settings.tenant,
            bot_users=self._bot_users or bot_users_of(body),
            received_at=datetime.now(UTC),
        )
        if message is not None:
            async with asyncio.timeout(_ACCEPT_SECONDS):
                await self._inbox.accept(message)

    async def _learn_own_id(self) -> None:
        """Ask who we are until Slack says it; until then each event's envelope tells."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = await self._channel.client.auth_test()
            except SlackApiError as error:
                if error_code(error) in _HOPELESS:
                    log.warning("slack.token_refused", error=error_code(error))
                    return
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                log.warning("slack.unreachable", error=type(error).__name__)
            else:
                self._bot_users = frozenset({str(answer["user_id"])})
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _bolt(secret: str, settings: Settings) -> AsyncApp:
    # Bolt runs listeners before it answers, so that a failing inbox is seen; its logger would
    # otherwise write whole events and warn of the token that is also in the environment.
    logger = logging.getLogger("frontdesk.slack.bolt")
    logger.setLevel(logging.CRITICAL)
    return AsyncApp(
        name="frontdesk",
        logger=logger,
        client=AsyncWebClient(base_url=settings.slack_api_url),
        signing_secret=secret,
        authorize=_vouching(settings),
        process_before_response=True,
    )


def _vouching(settings: Settings) -> Authorize:
    """Vouch for the configured token; Bolt's own way asks Slack, and drops the event if down."""
    token = settings.slack_bot_token

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=token.get_secret_value() if token else None,
        )

    return authorize


async def _acknowledge() -> None:
    """Take every other event, so that Slack does not send it again."""


async def _refuse(error: Exception) -> BoltResponse:
    known = isinstance(error, BotError | TimeoutError)
    log.error("slack.not_kept", error=type(error).__name__, exc_info=None if known else error)
    return BoltResponse(status=503, body="")


def _bolt_request(request: web.Request, raw: bytes) -> AsyncBoltRequest:
    try:
        return AsyncBoltRequest(
            body=raw.decode(), query=request.query_string, headers={**request.headers}
        )
    except ValueError as error:
        raise web.HTTPBadRequest(text="The form holds no JSON.") from error
