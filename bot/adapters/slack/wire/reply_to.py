"""Where a question is answered that came with a command: pure."""

from __future__ import annotations

import json

from bot.types import Message


def response_url_of(message: Message) -> str | None:
    """Return the address that a message is to be answered at, None for all but commands."""
    try:
        given = json.loads(message.reply_to) if message.reply_to else None
    except ValueError:
        return None
    url = given.get("response_url") if isinstance(given, dict) else None
    return url if isinstance(url, str) and url else None
