"""An activity as a message, or nothing: pure, on the JSON as it came."""

from __future__ import annotations

from datetime import datetime

from bot.adapters.teams.wire.attached import attachments_in
from bot.adapters.teams.wire.body import (
    Body,
    conversation_of,
    is_ours,
    is_private,
    person_of,
    root_of,
    text_at,
    thread_id_of,
)
from bot.adapters.teams.wire.mentions import is_addressed
from bot.adapters.teams.wire.reference import reference_of
from bot.adapters.teams.wire.words import words_of
from bot.chat.messages import ReceivedMessage
from bot.domain.types import Message, Thread

_SAID = frozenset({"message", "messageUpdate"})


def message_of(body: Body, *, tenant: str, received_at: datetime) -> Message | None:
    """Return the question that a person asks the bot with an activity, or None."""
    said = heard(body, tenant=tenant, received_at=received_at)
    if said is None or said.by_bot or said.message.overheard:
        return None
    return said.message


def heard(body: Body, *, tenant: str, received_at: datetime) -> ReceivedMessage | None:
    """Return what an activity says, or None for what is nobody's word, or is our own.

    In a channel or group chat, what does not mention the bot is overheard. A group chat has no
    threads, so that each of its messages begins one.
    """
    if text_at(body, "type") not in _SAID or not _is_said(body):
        return None
    by_bot, overheard = is_ours(body), not (is_private(body) or is_addressed(body))
    if by_bot and overheard:
        return None
    words = words_of(body)
    message = Message(
        id=text_at(body, "id"),
        thread=thread_of(body, tenant),
        author=person_of(body),
        text=words.text,
        received_at=received_at,
        private=is_private(body),
        reply_to=reference_of(body),
        overheard=overheard,
        attachments=attachments_in(body, words.quotes),
        by_bot=by_bot,
    )
    return ReceivedMessage(message, begins=root_of(body) in {"", message.id}, by_bot=by_bot)


def thread_of(body: Body, tenant: str) -> Thread:
    """Return the thread that an activity stands in, a whole chat where there are none."""
    return Thread("teams", tenant, conversation_of(body), thread_id_of(body))


def _is_said(body: Body) -> bool:
    """Tell whether somebody else says something; what an old card sends has a value, no text."""
    sender, bot = text_at(body, "from", "id"), text_at(body, "recipient", "id")
    if not (sender and bot and text_at(body, "id") and conversation_of(body)):
        return False
    if sender == bot:
        return False
    return body.get("value") is None or bool(text_at(body, "text"))
