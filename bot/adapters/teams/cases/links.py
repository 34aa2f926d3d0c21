"""Addresses at which Teams opens a message, for those who may see it there: pure."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from bot.adapters.teams.wire.body import ROOT_MARK, text_at
from bot.adapters.teams.wire.reference import ROOM_ID, read_reference
from bot.domain.types import Message, PostedRef

_OPENS = "https://teams.microsoft.com/l/message"
_NUMBER = re.compile(r"\d+")
_CHAT = '{"contextType":"chat"}'


def thread_of(at: PostedRef) -> str:
    """Return the conversation that a post began; a group chat has no threads."""
    return at.channel if _is_chat(at.channel) else f"{at.channel}{ROOT_MARK}{at.id}"


def link_to(message: Message) -> str | None:
    """Return where a question can be opened; None for a chat that only its asker has."""
    if message.private:
        return None
    there = read_reference(message.reply_to)
    at = PostedRef(message.thread.channel, message.id)
    return address(
        at,
        tenant=text_at(there, "conversation", "tenantId"),
        group=text_at(there, "team", "aadGroupId"),
        root=message.thread.id,
    )


def address(at: PostedRef, *, tenant: str = "", group: str = "", root: str = "") -> str | None:
    """Return where a message opens; None for what Teams has given no such name.

    ``tenant`` and ``group`` are the Entra ids of the company and of the team, which spare Teams a
    question; ``root`` is the message that began the thread.
    """
    if not (ROOM_ID.fullmatch(at.channel) and _NUMBER.fullmatch(at.id)):
        return None
    known = {"groupId": group, "tenantId": tenant}
    if _is_chat(at.channel):
        known = {"tenantId": tenant, "context": _CHAT}
    elif _NUMBER.fullmatch(root):
        known |= {"parentMessageId": root}
    asked = urlencode({key: value for key, value in known.items() if value})
    where = f"{_OPENS}/{quote(at.channel, safe='')}/{at.id}"
    return f"{where}?{asked}" if asked else where


def _is_chat(conversation: str) -> bool:
    return conversation.endswith("@thread.v2")
