"""How a call to Teams can fail, and what Teams' answers mean: ask again now, later, or never.

- bot.domain.errors.BotError
  - KeysUnavailable     the keys that tokens are signed with cannot be fetched
  - bot.domain.errors.DeliveryFailed
    - RateLimited       Teams did nothing; ask again after a while
    - NotPermitted      Teams did nothing; an administrator can mend that
    - NoToken           Teams was not called: Microsoft gives the bot no token
    - Unavailable       for a moment; what Teams did is unknown
    - bot.domain.errors.DeliveryRefused
      - ContentRefused  Teams does not take what the activity holds; a plainer one may do
      - Gone            the activity or its conversation is not there
      - BotRemoved      the bot is not in the conversation, or is blocked there
      - StreamRefused   a stream can't be begun or gone on with; a plain message may be sent
"""

from __future__ import annotations

import json
from typing import Any, Literal

from msrest.exceptions import ClientException

from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused, retry_after_seconds
from bot.platforms.teams.payloads.activity import text_at


class KeysUnavailable(BotError):
    """The signing keys cannot be fetched."""


class RateLimited(DeliveryFailed):
    """It is too much for Teams now; ``retry_after_seconds`` says how long to wait."""


class NotPermitted(DeliveryFailed):
    """The bot may not do this yet; an administrator can let it."""


class NoToken(DeliveryFailed):
    """Microsoft gives the bot no token; the message says why, and what mends it."""


class Unavailable(DeliveryFailed):
    """Teams, or what is before it, failed for a moment: 502 and 504."""


class ContentRefused(DeliveryRefused):
    """Teams does not take what an activity holds, and did nothing.

    ``too_long``: there is too much of it; otherwise something in it is wrong.
    """

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class Gone(DeliveryRefused):
    """There is no such activity or conversation, or it can't be changed any more."""


class BotRemoved(DeliveryRefused):
    """The bot was removed from the conversation, or is blocked there: nothing is taken from it.

    ``lasting``: until something comes from there again.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class StreamRefused(DeliveryRefused):
    """Teams goes on with no stream, and did nothing; ``why`` is what it says about that.

    "stopped": its reader pressed Stop. "completed": its final message is there. "late": two minutes
    are over. "refused": anything else, such as another one under way, or too much text.
    """

    def __init__(self, message: str, why: StreamEnd) -> None:
        super().__init__(message)
        self.why = why


StreamEnd = Literal["stopped", "completed", "late", "refused"]


_SHORTEST_WAIT_SECONDS = 0.5
_DEFAULT_WAIT_SECONDS = 1.0

_RATE_LIMIT_STATUSES = frozenset({412, 429})
_GONE_STATUSES = frozenset({404, 405, 410})
_BAD, _TOO_LONG, _NEVER = 400, 413, 501
_MENDABLE_CODES = frozenset({"NotEnoughPermissions", "InvalidBotApiHost"})
"""Codes of a 403 that an admin can do something about while the message waits."""

_REMOVED_CODES = frozenset(
    {"BotNotInConversationRoster", "ConversationBlockedByUser", "ForbiddenOperationException"}
)
"""Codes of a 403 that says that the bot is not there, or not wanted."""

_STREAM_CODE = "ContentStreamNotAllowed"
_STREAM_WORD = "stream"
"""In the words of a 400: the stream is wrong, not what the activity holds."""
_STREAM_ENDS: tuple[tuple[str, StreamEnd], ...] = (
    ("cancel", "stopped"),
    ("already completed", "completed"),
    ("exceeded streaming time", "late"),
)
"""What is in the words of a refused stream: its code is the same for all."""

_FORBIDDEN = 403
_PASSING_STATUSES = frozenset({502, 504})

_CURES = {
    400: "This version of the bot writes what Teams does not take.",
    401: "Check MICROSOFT_APP_ID and MICROSOFT_APP_PASSWORD.",
    403: "The bot was removed from the conversation, or is blocked there.",
    404: "The conversation or the message is gone.",
    413: "The message is too large.",
}


def failure_of(error: ClientException) -> DeliveryFailed:
    """Return what an answer of Teams means for the delivery; what it may have done is unknown.

    Only after Busy is it certain that nothing was done.
    """
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        return DeliveryFailed("Teams cannot be reached. Check the network.")
    code, words = _code_and_words(response)
    named = f"Teams answered {status} {code}".rstrip()
    reason = f"{named}. {_CURES.get(status, '')}".rstrip()
    asked = retry_after_seconds(response.headers.get("Retry-After"))
    if status in _RATE_LIMIT_STATUSES:
        return _rate_limited(named, asked)
    if code == _STREAM_CODE or (status == _BAD and _STREAM_WORD in words.lower()):
        return StreamRefused(f"{named}: no stream can be shown.", _stream_end(words))
    if status == _FORBIDDEN:
        return _forbidden(code, reason, asked)
    return _refused(status, reason) or _failed(status, reason, asked)


def _forbidden(code: str, reason: str, asked: float | None) -> DeliveryFailed:
    if code in _MENDABLE_CODES:
        return NotPermitted(reason, retry_after_seconds=asked)
    return BotRemoved(reason, lasting=code in _REMOVED_CODES)


def _refused(status: int, reason: str) -> DeliveryRefused | None:
    if status in _GONE_STATUSES:
        return Gone(reason)
    if status in {_BAD, _TOO_LONG}:
        return ContentRefused(reason, too_long=status == _TOO_LONG)
    return DeliveryRefused(reason) if status == _NEVER else None


def _failed(status: int, reason: str, asked: float | None) -> DeliveryFailed:
    kind = Unavailable if status in _PASSING_STATUSES else DeliveryFailed
    return kind(reason, retry_after_seconds=asked)


def _rate_limited(named: str, asked: float | None) -> RateLimited:
    wait = _DEFAULT_WAIT_SECONDS if asked is None else max(asked, _SHORTEST_WAIT_SECONDS)
    reason = f"{named}: the rate limit of Teams holds. It is tried again later."
    return RateLimited(reason, retry_after_seconds=wait)


def _stream_end(words: str) -> StreamEnd:
    return next((end for part, end in _STREAM_ENDS if part in words.lower()), "refused")


def _code_and_words(response: Any) -> tuple[str, str]:  # noqa: ANN401  # msrest's responses have no common type
    """Return the code of an error, and its words."""
    try:
        body = json.loads(response.text)
    except (ValueError, TypeError, AttributeError):
        return "", ""
    if not isinstance(body, dict):
        return "", ""
    return text_at(body, "error", "code"), text_at(body, "error", "message")
