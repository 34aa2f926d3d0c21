"""How a question came, where that decides on its reply, and which addresses are Slack's: pure."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from bot.types import Message

_SLACKS_OWN = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})


def response_url_of(message: Message) -> str | None:
    """Return the address that a message is to be answered at, None for all but commands."""
    try:
        given = json.loads(message.reply_to) if message.reply_to else None
    except ValueError:
        return None
    url = given.get("response_url") if isinstance(given, dict) else None
    return url if isinstance(url, str) and url else None


def pointed() -> str:
    """Return what says that somebody else than its author asked about a message."""
    return json.dumps({"pointed": True})


def is_pointed(message: Message) -> bool:
    """Tell whether somebody asked about a message that another wrote."""
    return message.reply_to == pointed()


def is_slacks(url: str, api_url: str) -> bool:
    """Tell whether an address to answer at is Slack's, or of the place that stands in for it."""
    origin = _origin(url)
    if origin is None:
        return False
    return origin == _origin(api_url) or (
        origin[0] == "https" and origin[1] in _SLACKS_OWN and origin[2] in {None, 443}
    )


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return (parts.scheme, parts.hostname or "", port)
