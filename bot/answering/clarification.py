"""Build a clarification when a question fits several pages."""

from __future__ import annotations

from collections.abc import Sequence

from bot.answering.reply_text import option_label, suggestions_of
from bot.domain.interactions import Clarification
from rag.text.words import stems
from rag.types import Passage

_MOST_SUBJECTS = 3
"""Content words of a broad question, at most."""
_LEAST_SCORE_SHARE = 0.75
"""Least score of a candidate, as a share of the best passage's."""
_MOST_OPTIONS = 4


def clarify(question: str, passages: Sequence[Passage], probability: float) -> Clarification | None:
    """Return a clarification for a broad question that fits several pages; else None.

    Broad means at most three content words. A page is a candidate when its title or section
    shares one of them, title, section and text together have all of them, and its score is at
    least 0.75 of the best.
    """
    asked = set(stems(question))
    if not asked or len(asked) > _MOST_SUBJECTS or not passages:
        return None
    # Reversed, so that the best passage of each page is kept.
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


def _is_about(passage: Passage, asked: set[str]) -> bool:
    chunk = passage.chunk
    named = set(stems(f"{chunk.title} {chunk.section}"))
    return bool(named & asked) and asked <= named | set(stems(chunk.text))
