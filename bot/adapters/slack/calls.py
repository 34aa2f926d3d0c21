"""Calls to Slack's Web API: waits out rate limits and names what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.errors import FormRefused, ResultUnknown
from bot.errors import DeliveryFailed

Pause = Callable[[float], Awaitable[None]]

_ATTEMPTS = 3
_LONGEST_WAIT_SECONDS = 30.0
_TOO_MANY = 429
_SERVER_ERRORS = 500
_REFUSED = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
)
_CURES = {
    "not_in_channel": "Invite the bot to the channel.",
    "channel_not_found": "Invite the bot to the channel, or correct its id.",
    "invalid_auth": "Set SLACK_BOT_TOKEN to the token under OAuth & Permissions.",
    "token_revoked": "Install the app again and set SLACK_BOT_TOKEN to its new token.",
    "account_inactive": "Install the app again and set SLACK_BOT_TOKEN to its new token.",
    "missing_scope": "Add the scope (infra/slack/manifest.yaml lists all) and reinstall the app.",
}


class Caller:
    """Makes calls; a client handed to it must not retry by itself, or messages are doubled."""

    def __init__(self, pause: Pause = asyncio.sleep) -> None:
        self._pause = pause

    async def call(
        self, what: str, send: Callable[[], Awaitable[AsyncSlackResponse]]
    ) -> AsyncSlackResponse:
        """Make a call, at most three times while Slack says that it is too much.

        Raises FormRefused, ResultUnknown, DeliveryFailed. ``what`` names the call in the message.
        """
        for _ in range(_ATTEMPTS):
            try:
                return await send()
            except SlackApiError as error:
                if _status(error) != _TOO_MANY:
                    raise _named(what, error) from error
                wait = _retry_after(error)
                if wait > _LONGEST_WAIT_SECONDS:
                    break
                await self._pause(wait)
            except aiohttp.ClientConnectorError as error:
                raise DeliveryFailed(
                    f"{what}: Slack cannot be reached. Check the network."
                ) from error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise ResultUnknown(
                    f"{what}: the connection broke before Slack answered."
                ) from error
            except SlackClientError as error:
                raise DeliveryFailed(f"{what}: the request could not be made.") from error
        raise DeliveryFailed(f"{what}: Slack's rate limit holds. It is tried again later.")


def error_code(error: SlackApiError) -> str:
    """Return Slack's name of an error, "" when it gave none."""
    try:
        return str(error.response.get("error", ""))
    except AttributeError:
        return ""


def _named(what: str, error: SlackApiError) -> DeliveryFailed:
    code = error_code(error)
    if code in _REFUSED:
        return FormRefused(f"{what}: Slack answered {code!r}.")
    if _status(error) >= _SERVER_ERRORS or not code:
        return ResultUnknown(f"{what}: Slack answered {_status(error)} without saying what it did.")
    return DeliveryFailed(f"{what}: Slack answered {code!r}. {_CURES.get(code, '')}".rstrip())


def _status(error: SlackApiError) -> int:
    for name in ("status_code", "status"):
        status = getattr(error.response, name, None)
        if isinstance(status, int):
            return status
    return _SERVER_ERRORS


def _retry_after(error: SlackApiError) -> float:
    try:
        return max(0.0, float(error.response.headers.get("Retry-After", "1")))
    except (AttributeError, TypeError, ValueError):
        return 1.0
