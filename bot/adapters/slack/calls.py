"""Calls to Slack's Web API: waits out short rate limits and names what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.errors import (
    FormRefused,
    NeverPermitted,
    NotPermitted,
    RateLimited,
    ResultUnknown,
)
from bot.errors import DeliveryFailed
from bot.retry_after import retry_after_seconds

Pause = Callable[[float], Awaitable[None]]

PATIENCE_SECONDS = 2.0
"""A call waits so long for a rate limit; what takes longer waits in the inbox, at no cost."""

_SHORTEST_WAIT_SECONDS = 0.5
_USUAL_WAIT_SECONDS = 1.0
_SHOWN_AFTER_SECONDS = 2.0
"""What Slack took without saying so is listed by then; it says nothing of how soon it is."""

_TOO_MANY = 429
_SERVER_ERRORS = 500
_LIMITED = frozenset({"ratelimited", "rate_limited"})
_FORMS = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
)
_DONE_PERHAPS = frozenset(
    {"fatal_error", "internal_error", "service_unavailable", "request_timeout"}
)
_NEVER = frozenset(
    {
        "is_archived",
        "cannot_reply_to_message",
        "restricted_action_thread_locked",
        "restricted_action_non_threadable_channel",
        "thread_not_found",
        "message_not_found",
        "user_not_found",
        "user_disabled",
        "cannot_dm_bot",
        "cant_delete_message",
    }
)
_INSTALL = "Install the app again and set SLACK_BOT_TOKEN to its new token."
_POSTING = "Let the app post there (channel settings > posting permissions)."
_CURES = {
    "not_in_channel": "Invite the bot to the channel.",
    "channel_not_found": "Invite the bot to the channel, or correct its id.",
    "invalid_auth": "Set SLACK_BOT_TOKEN to the token under OAuth & Permissions.",
    "not_authed": "Set SLACK_BOT_TOKEN to the token under OAuth & Permissions.",
    "token_revoked": _INSTALL,
    "token_expired": _INSTALL,
    "account_inactive": _INSTALL,
    "missing_scope": "Add the scope (infra/slack/manifest.yaml lists all) and reinstall the app.",
    "restricted_action": _POSTING,
    "restricted_action_read_only_channel": _POSTING,
    "restricted_action_thread_only_channel": _POSTING,
    "messages_tab_disabled": "Switch on the messages tab under App Home.",
}


class Caller:
    """Makes calls; a client handed to it must not retry by itself, or messages are doubled."""

    def __init__(self, pause: Pause = asyncio.sleep) -> None:
        self._pause = pause

    async def call(
        self,
        what: str,
        send: Callable[[], Awaitable[AsyncSlackResponse]],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> AsyncSlackResponse:
        """Make a call, again while Slack says that it is too much, as long as patience lasts.

        Raises FormRefused, RateLimited, ResultUnknown, NotPermitted, NeverPermitted,
        DeliveryFailed. ``what`` names the call in the message.
        """
        left = patience_seconds
        while True:
            try:
                return await _sent(what, send)
            except RateLimited as error:
                wait = error.retry_after_seconds or _USUAL_WAIT_SECONDS
                if wait > left:
                    raise
                left -= wait
                await self._pause(wait)


async def _sent(what: str, send: Callable[[], Awaitable[AsyncSlackResponse]]) -> AsyncSlackResponse:
    try:
        return await send()
    except SlackApiError as error:
        raise _named(what, error) from error
    except aiohttp.ClientConnectorError as error:
        raise DeliveryFailed(f"{what}: Slack cannot be reached. Check the network.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _unknown(f"{what}: the connection broke before Slack answered.") from error
    except SlackClientError as error:
        raise DeliveryFailed(f"{what}: the request could not be made.") from error
    except AttributeError as error:
        # slack_sdk stumbles over an answer that is no JSON object: a proxy's page.
        raise _unknown(f"{what}: the answer is not Slack's. Check the proxy between.") from error


def error_code(error: SlackApiError) -> str:
    """Return Slack's name of an error, "" when it gave none."""
    try:
        return str(error.response.get("error", ""))
    except AttributeError:
        return ""


def _named(what: str, error: SlackApiError) -> DeliveryFailed:
    code, status = error_code(error), _status(error)
    if status == _TOO_MANY or code in _LIMITED:
        return _limited(what, _header_seconds(error))
    if code in _FORMS:
        return FormRefused(f"{what}: Slack answered {code!r}.")
    if code in _DONE_PERHAPS or status >= _SERVER_ERRORS or not code:
        reason = f"{what}: Slack answered {status} {code!r} without saying what it did."
        return _unknown(reason, _header_seconds(error))
    if code in _NEVER:
        return NeverPermitted(f"{what}: Slack answered {code!r}; it will tomorrow too.", code)
    return NotPermitted(f"{what}: Slack answered {code!r}. {_CURES.get(code, '')}".rstrip(), code)


def _limited(what: str, asked: float | None) -> RateLimited:
    wait = _USUAL_WAIT_SECONDS if asked is None else max(asked, _SHORTEST_WAIT_SECONDS)
    reason = f"{what}: Slack's rate limit holds. It is tried again later."
    return RateLimited(reason, retry_after_seconds=wait)


def _unknown(reason: str, asked: float | None = None) -> ResultUnknown:
    return ResultUnknown(reason, retry_after_seconds=max(asked or 0.0, _SHOWN_AFTER_SECONDS))


def _status(error: SlackApiError) -> int:
    for name in ("status_code", "status"):
        status = getattr(error.response, name, None)
        if isinstance(status, int):
            return status
    return _SERVER_ERRORS


def _header_seconds(error: SlackApiError) -> float | None:
    headers = getattr(error.response, "headers", None) or {}
    return retry_after_seconds(headers.get("Retry-After"))
