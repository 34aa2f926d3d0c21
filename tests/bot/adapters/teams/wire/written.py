"""Activities with words in them, as Teams sends them, for tests of how they are read."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
BOT = "28:bot"
CLIENT = {"type": "clientInfo", "locale": "en-GB", "platform": "Windows"}


def mention(name: str, who: str = BOT, *, text: str | None = None) -> Json:
    """Return the entity of a mention."""
    written = f"<at>{name}</at>" if text is None else text
    return {"type": "mention", "mentioned": {"id": who, "name": name}, "text": written}


def copied(html: str) -> Json:
    """Return the copy as HTML that Teams attaches to each message."""
    return {"contentType": "text/html", "content": html}


def activity(text: str, *entities: Json, html: str = "", **changes: Any) -> Json:  # noqa: ANN401
    return {
        "type": "message",
        "id": "1700000000001",
        "timestamp": "2026-11-21T10:00:00.000Z",
        "from": {"id": "29:alice", "name": "Alice", "aadObjectId": "alice-object-id"},
        "conversation": {"id": "19:help@thread.tacv2;messageid=1700000000001"},
        "recipient": {"id": BOT, "name": "Help"},
        "entities": [CLIENT, *entities],
        "attachments": [copied(html)] if html else [],
        "text": text,
        "textFormat": "plain",
        **changes,
    }
