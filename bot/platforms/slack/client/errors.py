"""Errors of Slack's Web API, and the mapping of failed responses to them.

- bot.domain.errors.DeliveryFailed
  - FormRefused       Slack rejects these blocks; a plainer form may pass
  - bot.domain.errors.RateLimited
  - ResultUnknown     Slack may have done it and did not say so
  - NotPermitted      Slack refused and did nothing; somebody can fix the cause
  - bot.domain.errors.DeliveryRefused
    - FormsRefused    Slack rejects every form of a message
    - NeverPermitted  Slack refused, and will refuse every retry
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.errors import DeliveryFailed, DeliveryRefused, RateLimited, retry_after_seconds

_TOO_LONG = frozenset({"msg_blocks_too_long", "msg_too_long"})


class FormRefused(DeliveryFailed):
    """Slack rejects a message in this form; ``blocks`` are the indexes of the blocks it named.

    ``unknown`` are those of them whose type it does not support; in the others something is wrong.
    """

    def __init__(
        self,
        message: str,
        code: str,
        blocks: frozenset[int] = frozenset(),
        unknown: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.blocks = blocks
        self.unknown = unknown

    @property
    def too_long(self) -> bool:
        """Whether the form is too long."""
        return self.code in _TOO_LONG


class FormsRefused(DeliveryRefused):
    """Slack rejects every form of a message."""


class ResultUnknown(DeliveryFailed):
    """Slack may or may not have carried out a call."""


class NotPermitted(DeliveryFailed):
    """Slack did not carry out a call; ``code`` is its error code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class NeverPermitted(DeliveryRefused):
    """Slack will never carry out a call; ``code`` is its error code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


_SHORTEST_WAIT_SECONDS = 0.5
USUAL_WAIT_SECONDS = 1.0
_SHOWN_AFTER_SECONDS = 2.0
"""A message posted with an unknown result is listed by then; Slack documents no such delay."""

_TOO_MANY = 429
_SERVER_ERRORS = 500
_LIMITED_CODES = frozenset({"ratelimited", "rate_limited"})
_FORM_CODES = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
)
_UNKNOWN_RESULT_CODES = frozenset(
    {"fatal_error", "internal_error", "service_unavailable", "request_timeout"}
)
_NEVER_CODES = frozenset(
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
        "cant_update_message",
        "edit_window_closed",
    }
)
NOT_IN_CHANNEL = frozenset({"channel_not_found", "not_in_channel"})
"""Codes for a bot outside the channel, so none of its messages can be found there."""

THREAD_ERRORS = NOT_IN_CHANNEL | {
    "invalid_thread_ts",
    "message_not_found",
    "method_not_supported_for_channel_type",
    "thread_not_found",
}
"""Codes that concern one thread, rather than a feature that the workspace lacks."""

NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
"""Codes if the question was deleted before anything was posted below it."""

NO_USER = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

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
    "ekm_access_denied": _POSTING,
    "messages_tab_disabled": "Switch on the messages tab under App Home.",
}
_BLOCK_PATH = re.compile(r"\bblocks/(\d+)\b")
_UNKNOWN_BLOCK_PATH = re.compile(
    r"(?i)\bunsupported (?:block )?type\b.*?\bblocks/(\d+)(?:/type)?(?![\d/])"
)
"""Matches a block of an unsupported type; a longer path names an element within a block."""


def error_from_response(what: str, response: object) -> DeliveryFailed:
    """Return the error for a failed response; ``what`` names the call."""
    code, status = response_error_code(response), _status(response)
    if status == _TOO_MANY or code in _LIMITED_CODES:
        return rate_limited(what, _header_seconds(response))
    if code in _FORM_CODES:
        refused = _block_numbers(_BLOCK_PATH, response)
        unknown = _block_numbers(_UNKNOWN_BLOCK_PATH, response)
        return FormRefused(f"{what}: Slack answered {code!r}.", code, refused, unknown)
    if code in _UNKNOWN_RESULT_CODES or status >= _SERVER_ERRORS or not code:
        reason = f"{what}: Slack answered {status} {code!r} without saying what it did."
        return result_unknown(reason, _header_seconds(response))
    if code in _NEVER_CODES:
        return NeverPermitted(f"{what}: Slack answered {code!r}; it will tomorrow too.", code)
    return NotPermitted(f"{what}: Slack answered {code!r}. {_CURES.get(code, '')}".rstrip(), code)


def response_error_code(response: object) -> str:
    """Return Slack's error code, "" if it gave none."""
    return str(_field(response, "error") or "")


def _block_numbers(pattern: re.Pattern[str], response: object) -> frozenset[int]:
    """Return the indexes, from 0, of the blocks that a response names in this way, if any."""
    metadata = _field(response, "response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, Mapping) else None
    listed = messages if isinstance(messages, list) else [messages or ""]
    return frozenset(int(index) for each in listed for index in pattern.findall(str(each)))


def _field(response: object, name: str) -> object:
    """Return a field of a response, None if it is no JSON object."""
    try:
        return response.get(name) if isinstance(response, AsyncSlackResponse | dict) else None
    except AttributeError:
        return None


def rate_limited(what: str, requested: float | None) -> RateLimited:
    """Return a RateLimited error; ``requested`` is the wait in seconds that Slack requested."""
    wait = USUAL_WAIT_SECONDS if requested is None else max(requested, _SHORTEST_WAIT_SECONDS)
    reason = f"{what}: Slack's rate limit holds. It is tried again later."
    return RateLimited(reason, retry_after_seconds=wait)


def result_unknown(reason: str, requested: float | None = None) -> ResultUnknown:
    """Return a ResultUnknown error; ``requested`` is the wait in seconds that Slack requested."""
    return ResultUnknown(reason, retry_after_seconds=max(requested or 0.0, _SHOWN_AFTER_SECONDS))


def _status(response: object) -> int:
    for name in ("status_code", "status"):
        status = getattr(response, name, None)
        if isinstance(status, int):
            return status
    return _SERVER_ERRORS


def _header_seconds(response: object) -> float | None:
    headers = getattr(response, "headers", None) or {}
    return retry_after_seconds(headers.get("Retry-After"))
