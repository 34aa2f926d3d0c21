"""Judges one answer of a model, and asks for a better one."""

from __future__ import annotations

from collections.abc import Sequence

from rag.models.transport import Exchange
from rag.models.wire import ChatReply
from rag.ports import ChatMessage
from rag.types import FilterVerdict

_LONGEST_REPEATED = 8000
"""Characters of a wrong answer that are sent back."""


def refusal_of(exchange: Exchange) -> str | None:
    """Return the words of who declined, the model or its content filter; else None."""
    if exchange.reply is None or exchange.reply.finish_reason == "content_filter":
        return _filter_words(exchange.filters)
    return exchange.reply.choice.message.refusal or None


def problem_of(reply: ChatReply, max_output_tokens: int) -> str:
    """Return what is wrong with an answer whatever it says: that it was cut off, or ""."""
    if reply.finish_reason == "length":
        return f"it was cut off at the limit of {max_output_tokens} tokens; be much shorter"
    return ""


def repair_messages(
    asked: Sequence[ChatMessage], text: str, problem: str
) -> tuple[ChatMessage, ...]:
    """Return the question again, the wrong answer, and what was wrong with it."""
    wrong = (ChatMessage("assistant", text[:_LONGEST_REPEATED]),) if text.strip() else ()
    request = (
        f"That answer cannot be used: {problem}. Answer the same question again, in exactly the "
        "form asked for, with nothing before or after it."
    )
    return (*asked, *wrong, ChatMessage("user", request))


def _filter_words(filters: Sequence[FilterVerdict]) -> str:
    categories = sorted({verdict.category for verdict in filters if verdict.filtered})
    return f"Stopped by the content filter ({', '.join(categories)})."
