"""Addresses at which Teams opens a message, for those who may see it there: pure."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from bot.adapters.teams.wire.body import text_at
from bot.adapters.teams.wire.reference import read_reference
from bot.types import Message, PostedRef

_OPENS = "https://teams.microsoft.com/l/message"
_CONVERSATION = re.compile(r"19:[^\s;/?#]+")
_NUMBER = re.compile(r"\d+")
_CHAT = '{"contextType":"chat"}'


def is_chat(conversation: str) -> bool:
    """Tell whether several people talk there without threads: in a group chat, no channel."""
    return conversation.endswith("@thread.v2")


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
    if not (_CONVERSATION.fullmatch(at.channel) and _NUMBER.fullmatch(at.id)):
        return None
    known = {"groupId": group, "tenantId": tenant}
    if is_chat(at.channel):
        known = {"tenantId": tenant, "context": _CHAT}
    elif _NUMBER.fullmatch(root):
        known |= {"parentMessageId": root}
    asked = urlencode({key: value for key, value in known.items() if value})
    where = f"{_OPENS}/{quote(at.channel, safe='')}/{at.id}"
    return f"{where}?{asked}" if asked else where
