"""Ask back when a question fits several pages equally, or names no topic for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.answering.reply_text import suggestions_of
from bot.domain.handoff import ASK_TOPIC, ASK_TOPIC_IN_CHANNEL
from bot.domain.interactions import Clarification
from bot.domain.messages import Inquiry
from rag.text.words import stems
from rag.types import Passage

_MOST_SUBJECTS = 3
_LEAST_SCORE_SHARE = 0.75
_MOST_OPTIONS = 4


def clarify(question: str, passages: Sequence[Passage], probability: float) -> Clarification | None:
    """Return one question back when a broad question names what several pages are about.

    Broad means at most three content words; a page is a candidate when its title or section
    shares one of them and its text all of them, and when it scores close to the best.
    """
    asked = set(stems(question))
    if not asked or len(asked) > _MOST_SUBJECTS or not passages:
        return None
    candidates = {
        passage.chunk.page_id: passage
        for passage in reversed(passages)
        if passage.score >= _LEAST_SCORE_SHARE * passages[0].score and _is_about(passage, asked)
    }
    meant = [passage for passage in passages if candidates.get(passage.chunk.page_id) is passage]
    if not meant[1:]:
        return None
    options = tuple(dict.fromkeys(option_label(passage.chunk) for passage in meant))[:_MOST_OPTIONS]
    return Clarification(
        text="That could mean a few things. Which of these is it about?",
        options=options,
        suggestions=suggestions_of(meant),
        confidence=probability,
    )


def ask_topic(inquiry: Inquiry) -> Clarification | None:
    """Return a question back for what a person is wanted; None where people can't be asked."""
    message = inquiry.message
    if message.thread.platform == "cli":
        return None
    return Clarification(ASK_TOPIC if message.private else ASK_TOPIC_IN_CHANNEL)


def _is_about(passage: Passage, asked: set[str]) -> bool:
    chunk = passage.chunk
    named = set(stems(f"{chunk.title} {chunk.section}"))
    return bool(named & asked) and asked <= named | set(stems(chunk.text))


class HasTitle(Protocol):
    """A passage, in the index or as the record names it."""

    @property
    def title(self) -> str: ...

    @property
    def section(self) -> str: ...


def option_label(chunk: HasTitle) -> str:
    """Return what a passage is offered as."""
    if chunk.section and chunk.section != chunk.title:
        return f"{chunk.title}: {chunk.section}"
    return chunk.title
