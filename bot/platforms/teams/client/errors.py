"""Errors of calls to Teams, mapped from its responses: retry now, retry later, or never.

- bot.domain.errors.BotError
  - KeysUnavailable     the keys that tokens are signed with cannot be fetched
  - bot.domain.errors.DeliveryFailed
    - bot.domain.errors.RateLimited
    - NotPermitted      Teams did nothing; an administrator can grant the permission
    - NoToken           Teams was not called: Microsoft issues no token to the bot
    - NotReached        Teams was not called: there is no connection to it
    - Unavailable       temporary; whether Teams acted is unknown
    - bot.domain.errors.DeliveryRefused
      - ContentRefused  Teams rejects the activity's content; a plainer one may pass
      - Gone            the activity or its conversation does not exist
      - BotRemoved      the bot is not in the conversation, or is blocked there
      - StreamRefused   a stream can't be opened or continued; a plain message may be sent
"""

from __future__ import annotations

from typing import Literal

from bot.domain.errors import (
    BotError,
    DeliveryFailed,
    DeliveryRefused,
    RateLimited,
    retry_after_seconds,
)
from bot.platforms.teams.payloads.activity import Body, text_at


class KeysUnavailable(BotError):
    """The signing keys cannot be fetched."""


class NotPermitted(DeliveryFailed):
    """The bot lacks a permission that an administrator can grant."""


class NoToken(DeliveryFailed):
    """Microsoft issues no token to the bot; the message states the cause and the cure."""


class NotReached(DeliveryFailed):
    """No connection to Teams could be made, so that nothing was sent."""


class Unavailable(DeliveryFailed):
    """Temporary failure of Teams, of a gateway before it (502, 503, 504), or of a connection."""


class ContentRefused(DeliveryRefused):
    """Teams rejected the content of an activity, without any effect.

    ``too_long``: the content is too large; otherwise some part of it is invalid.
    """

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class Gone(DeliveryRefused):
    """The activity or conversation does not exist, or can no longer be changed."""


class BotRemoved(DeliveryRefused):
    """The bot was removed from the conversation or is blocked there; it can't post.

    ``lasting``: until another activity arrives from there.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class StreamRefused(DeliveryRefused):
    """Teams rejected a stream activity, without any effect; ``why`` is the reason.

    "stopped": the reader pressed Stop. "completed": the final message was already sent. "late": the
    two minutes are over. "refused": anything else, such as another open stream, or too much text.
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
"""Codes of a 403 that an administrator can resolve while the message waits."""

_REMOVED_CODES = frozenset(
    {"BotNotInConversationRoster", "ConversationBlockedByUser", "ForbiddenOperationException"}
)
"""Codes of a 403 that mean that the bot is not a member, or is blocked."""

_STREAM_CODE = "ContentStreamNotAllowed"
_STREAM_WORD = "stream"
"""Word in the message of a 400 that blames the stream, not the activity's content."""
_STREAM_ENDS: tuple[tuple[str, StreamEnd], ...] = (
    ("cancel", "stopped"),
    ("already completed", "completed"),
    ("exceeded streaming time", "late"),
)
"""Words in the message of a rejected stream, whose error code is always the same."""

_FORBIDDEN = 403
_PASSING_STATUSES = frozenset({502, 503, 504})

_CURES = {
    400: "This version of the bot writes what Teams does not take.",
    401: "Check MICROSOFT_APP_ID and MICROSOFT_APP_PASSWORD.",
    403: "The bot was removed from the conversation, or is blocked there.",
    404: "The conversation or the message is gone.",
    413: "The message is too large.",
}


def failure_of(status: int, body: Body, retry_after: str | None) -> DeliveryFailed:
    """Return the delivery error for a response of Teams: its status, JSON and Retry-After.

    The class of the error states whether Teams may have acted.
    """
    code, words = text_at(body, "error", "code"), text_at(body, "error", "message")
    named = f"Teams answered {status} {code}".rstrip()
    reason = f"{named}. {_CURES.get(status, '')}".rstrip()
    asked = retry_after_seconds(retry_after)
    if status in _RATE_LIMIT_STATUSES:
        return _rate_limited(named, asked)
    if code == _STREAM_CODE or (status == _BAD and _STREAM_WORD in words.lower()):
        return StreamRefused(f"{named}: no stream can be shown.", _stream_end(words))
    if status == _FORBIDDEN:
        return _forbidden(code, reason, asked)
    kind = Unavailable if status in _PASSING_STATUSES else DeliveryFailed
    return _refused(status, reason) or kind(reason, retry_after_seconds=asked)


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


def _rate_limited(named: str, asked: float | None) -> RateLimited:
    wait = _DEFAULT_WAIT_SECONDS if asked is None else max(asked, _SHORTEST_WAIT_SECONDS)
    reason = f"{named}: the rate limit of Teams holds. It is tried again later."
    return RateLimited(reason, retry_after_seconds=wait)


def _stream_end(words: str) -> StreamEnd:
    return next((end for part, end in _STREAM_ENDS if part in words.lower()), "refused")
