"""Bolt as Frontdesk uses it: verified already, authorised by what is configured, never silent."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.wire.requests import ODD_SHAPE
from bot.domain.errors import BotError, RateExceeded
from bot.domain.settings import Settings

Authorize = Callable[..., Awaitable[AuthorizeResult]]

log = structlog.get_logger(__name__)


class Registers(Protocol):
    """Takes some of what Slack sends: events, buttons, forms, commands."""

    def register(self, bolt: AsyncApp) -> None:
        """Tell Bolt what is taken.

        A listener acknowledges and returns within 2.5 s; what may take longer and may be lost is an
        errand (bot.domain.concurrency), what may not is put into the inbox.
        """
        ...


def bolt_app(settings: Settings, listeners: Sequence[Registers]) -> AsyncApp:
    """Return the app that these listeners hang on; what none of them takes is acknowledged."""
    # Bolt runs listeners before it answers, so that a failing inbox is seen; its logger would
    # otherwise write whole events and warn of the token that is also in the environment.
    logger = logging.getLogger("frontdesk.slack.bolt")
    logger.setLevel(logging.CRITICAL)
    secret = settings.slack_signing_secret
    bolt = AsyncApp(
        name="frontdesk",
        logger=logger,
        client=AsyncWebClient(base_url=settings.slack_api_url),
        signing_secret=secret.get_secret_value() if secret else "",
        authorize=_vouching(settings),
        process_before_response=True,
        request_verification_enabled=settings.slack_transport == "http",
    )
    for listener in listeners:
        listener.register(bolt)
    bolt.event(re.compile(".*"))(_acknowledge)
    bolt.error(_refuse)
    return bolt


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
    if isinstance(error, RateExceeded):
        # Acknowledged: it was logged and counted, and Slack would only send it again.
        return BoltResponse(status=200, body="")
    if isinstance(error, ODD_SHAPE):
        # Sent again it would have the same shape.
        log.error("slack.not_understood", error=type(error).__name__, exc_info=error)
        return BoltResponse(status=200, body="")
    known = isinstance(error, BotError | TimeoutError)
    log.error("slack.not_kept", error=type(error).__name__, exc_info=None if known else error)
    return BoltResponse(status=503, body="")
