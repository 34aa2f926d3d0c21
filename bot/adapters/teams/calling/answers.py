"""What Teams' answers mean: ask again now, later, or never."""

from __future__ import annotations

import json
from typing import Any

from msrest.exceptions import ClientException

from bot.adapters.teams.calling.errors import (
    Busy,
    FormRefused,
    Gone,
    NotPermitted,
    Removed,
    StreamEnd,
    StreamRefused,
    Unavailable,
)
from bot.adapters.teams.wire.body import text_at
from bot.domain.errors import DeliveryFailed, DeliveryRefused, retry_after_seconds

_SHORTEST_WAIT_SECONDS = 0.5
_USUAL_WAIT_SECONDS = 1.0

_NOTHING_DONE = frozenset({412, 429})
_GONE = frozenset({404, 405, 410})
_BAD, _TOO_LONG, _NEVER = 400, 413, 501
_MENDABLE = frozenset({"NotEnoughPermissions", "InvalidBotApiHost"})
"""Codes of a 403 that an admin can do something about while the message waits."""

_LEFT = frozenset(
    {"BotNotInConversationRoster", "ConversationBlockedByUser", "ForbiddenOperationException"}
)
"""Codes of a 403 that says that the bot is not there, or not wanted."""

_STREAM = "ContentStreamNotAllowed"
_OF_STREAM = "stream"
"""In the words of a 400: the stream is wrong, not what the activity holds."""
_STREAM_ENDS: tuple[tuple[str, StreamEnd], ...] = (
    ("cancel", "stopped"),
    ("already completed", "completed"),
    ("exceeded streaming time", "late"),
)
"""What is in the words of a refused stream: its code is the same for all."""

_FORBIDDEN = 403
_PASSING = frozenset({502, 504})

_CURES = {
    400: "This version of the bot writes what Teams does not take.",
    401: "Check MICROSOFT_APP_ID and MICROSOFT_APP_PASSWORD.",
    403: "The bot was removed from the conversation, or is blocked there.",
    404: "The conversation or the message is gone.",
    413: "The message is too large.",
}


def failure(error: ClientException) -> DeliveryFailed:
    """Return what an answer of Teams means for the delivery; what it may have done is unknown.

    Only after Busy is it certain that nothing was done.
    """
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        return DeliveryFailed("Teams cannot be reached. Check the network.")
    code, words = _error(response)
    named = f"Teams answered {status} {code}".rstrip()
    reason = f"{named}. {_CURES.get(status, '')}".rstrip()
    asked = retry_after_seconds(response.headers.get("Retry-After"))
    if status in _NOTHING_DONE:
        return _busy(named, asked)
    if code == _STREAM or (status == _BAD and _OF_STREAM in words.lower()):
        return StreamRefused(f"{named}: no stream can be shown.", _end(words))
    if status == _FORBIDDEN:
        return _forbidden(code, reason, asked)
    return _refused(status, reason) or _failed(status, reason, asked)


def _forbidden(code: str, reason: str, asked: float | None) -> DeliveryFailed:
    if code in _MENDABLE:
        return NotPermitted(reason, retry_after_seconds=asked)
    return Removed(reason, lasting=code in _LEFT)


def _refused(status: int, reason: str) -> DeliveryRefused | None:
    if status in _GONE:
        return Gone(reason)
    if status in {_BAD, _TOO_LONG}:
        return FormRefused(reason, too_long=status == _TOO_LONG)
    return DeliveryRefused(reason) if status == _NEVER else None


def _failed(status: int, reason: str, asked: float | None) -> DeliveryFailed:
    kind = Unavailable if status in _PASSING else DeliveryFailed
    return kind(reason, retry_after_seconds=asked)


def _busy(named: str, asked: float | None) -> Busy:
    wait = _USUAL_WAIT_SECONDS if asked is None else max(asked, _SHORTEST_WAIT_SECONDS)
    reason = f"{named}: the rate limit of Teams holds. It is tried again later."
    return Busy(reason, retry_after_seconds=wait)


def _end(words: str) -> StreamEnd:
    return next((end for part, end in _STREAM_ENDS if part in words.lower()), "refused")


def _error(response: Any) -> tuple[str, str]:  # noqa: ANN401  # msrest's responses have no common type
    """Return the code of an error, and its words."""
    try:
        body = json.loads(response.text)
    except (ValueError, TypeError, AttributeError):
        return "", ""
    if not isinstance(body, dict):
        return "", ""
    return text_at(body, "error", "code"), text_at(body, "error", "message")
