"""A question's words as a full-text query that can't be misread, whatever was typed."""

from __future__ import annotations

import re

from rag.words import content_words, words

MOST_WORDS = 48
"""A pasted log has hundreds; each costs time, and few of them tell pages apart."""

_WORD = re.compile(r"[^\W_]")


def keywords(text: str) -> tuple[str, ...]:
    """Return the distinct words to look for; stop words only when there is nothing else.

    Of very many words the first and the last are kept: that is where people put their question.
    """
    found = [word for word in content_words(text) or words(text) if _WORD.search(word)]
    distinct = list(dict.fromkeys(word.removesuffix("'s") for word in found))
    if len(distinct) > MOST_WORDS:
        half = MOST_WORDS // 2
        distinct = [*distinct[:half], *distinct[-half:]]
    return tuple(distinct)


def match_any(found: tuple[str, ...]) -> str:
    """Return an FTS5 expression for chunks with any of the words.

    Each word is a quoted string, so that none is taken for an operator or a column.
    """
    return " OR ".join(f'"{word.replace(chr(34), "")}"' for word in found)
