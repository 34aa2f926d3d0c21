"""How a question came, where that decides on its reply, and which addresses are Slack's: pure."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from bot.adapters.slack.wire.events import Event
from bot.domain.types import Message

_SHARED = "is_ext_shared_channel"
_SLACKS_OWN = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})


def response_url_of(message: Message) -> str | None:
    """Return the address that a message is to be answered at, None for all but commands."""
    url = _given(message).get("response_url")
    return url if isinstance(url, str) and url else None


def pointed() -> str:
    """Return what says that somebody else than its author asked about a message."""
    return json.dumps({"pointed": True})


def is_pointed(message: Message) -> bool:
    """Tell whether somebody asked about a message that another wrote."""
    return message.reply_to == pointed()


def enveloped(body: Event) -> str:
    """Return what an event's envelope says of its channel, to be kept with the message."""
    shared = body.get(_SHARED)
    return json.dumps({_SHARED: shared}) if isinstance(shared, bool) else ""


def was_shared(message: Message) -> bool | None:
    """Tell whether its channel was shared with others when it was sent, None if not known."""
    shared = _given(message).get(_SHARED)
    return shared if isinstance(shared, bool) else None


def is_slacks(url: str, api_url: str) -> bool:
    """Tell whether an address to answer at is Slack's, or of the place that stands in for it."""
    origin = _origin(url)
    if origin is None:
        return False
    return origin == _origin(api_url) or (
        origin[0] == "https" and origin[1] in _SLACKS_OWN and origin[2] in {None, 443}
    )


def _given(message: Message) -> Event:
    try:
        given = json.loads(message.reply_to) if message.reply_to else None
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return (parts.scheme, parts.hostname or "", port)
