"""An activity as a message, or nothing: pure, on the JSON as it came.

botbuilder, when it strips a mention, also strips every other use of the bot's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from bot.adapters.teams.wire.body import (
    Body,
    conversation_of,
    is_private,
    person_of,
    text_at,
    thread_id_of,
)
from bot.adapters.teams.wire.reference import reference_of
from bot.types import Message, Thread

_TAG = re.compile(r"</?at[^<>]*>")


def message_of(body: Body, *, tenant: str, received_at: datetime) -> Message | None:
    """Return the question that an activity holds, or None for everything else."""
    if text_at(body, "type") != "message" or not _is_asked(body):
        return None
    return Message(
        id=text_at(body, "id"),
        thread=Thread("teams", tenant, conversation_of(body), thread_id_of(body)),
        author=person_of(body),
        text=_asked_text(body),
        received_at=received_at,
        private=is_private(body),
        reply_to=reference_of(body),
    )


def _is_asked(body: Body) -> bool:
    """Tell whether a person asks the bot: in person, or by a mention anywhere else."""
    sender, bot = text_at(body, "from", "id"), text_at(body, "recipient", "id")
    if not (sender and bot and text_at(body, "id") and text_at(body, "conversation", "id")):
        return False
    if sender == bot or text_at(body, "from", "role") == "bot":
        return False
    if body.get("value") is not None and not text_at(body, "text"):
        return False
    return is_private(body) or any(who == bot for who, _ in _mentions(body))


def _asked_text(body: Body) -> str:
    """Return the text without the bot's mention; other people's become their names."""
    text, bot = text_at(body, "text"), text_at(body, "recipient", "id")
    for who, mention in _mentions(body):
        if who == bot:
            text = re.sub(rf" ?{re.escape(mention)}", "", text, count=1)
        else:
            text = text.replace(mention, _TAG.sub("", mention), 1)
    return text.replace("&nbsp;", " ").replace("\u00a0", " ").strip()


def _mentions(body: Body) -> Iterator[tuple[str, str]]:
    entities = body.get("entities")
    for entity in entities if isinstance(entities, list) else ():
        if isinstance(entity, Mapping) and text_at(entity, "type") == "mention":
            who, text = text_at(entity, "mentioned", "id"), text_at(entity, "text")
            if who and text:
                yield who, text
