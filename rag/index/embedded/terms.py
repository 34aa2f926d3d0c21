"""Look up how findable chunks spell a word, and which words name something in them.

Findable are those that a search for the question could find: inside the reader's permissions and
the question's filters. The list of all spellings, the same for every reader, only proposes
candidates: one that no findable chunk holds is not returned.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from rag.index.embedded.schema import FINDABLE, SEPARATOR
from rag.index.embedded.vectors import read_facts
from rag.index.hybrid_search import fts5_match_any
from rag.text.definitions import Headings, named_words
from rag.text.spelling import LEAST_LETTERS, MOST_LETTERS, Spelling, similar_words
from rag.text.words import content_words

_FOUND = f"JOIN places ON places.chunk = {{0}}.rowid WHERE {{0}} MATCH :words AND {FINDABLE}"
_WITH_STEM = _FOUND.format("words")
_HOLDS = f"SELECT 1 FROM words {_WITH_STEM} LIMIT 1"  # noqa: S608 - constants
_COUNT = f"SELECT count(*) FROM spellings {_FOUND.format('spellings')}"  # noqa: S608
_COUNT_STEM = f"SELECT count(*) FROM words {_WITH_STEM}"  # noqa: S608
_TEXTS = (
    "SELECT chunks.text FROM words JOIN chunks ON chunks.number = words.rowid "  # noqa: S608
    f"{_WITH_STEM} ORDER BY bm25(words) LIMIT 50"
)
MOST_NAMED = 500
"""The most chunks whose title and headings are read for the names of things.

The breadcrumb begins with the space, so the name of a space is in that of all its chunks. Titles
with the words come first by BM25, however long the chunk; then the breadcrumbs that have them most.
"""

_BEST_NAMED = (
    f"SELECT words.rowid AS number FROM words {_WITH_STEM} "  # noqa: S608
    f"ORDER BY bm25(words, 100.0, 1.0, 0.0) LIMIT {MOST_NAMED}"
)
_NAMES = (
    "SELECT DISTINCT places.page, chunks.title, chunks.breadcrumb "  # noqa: S608
    f"FROM ({_BEST_NAMED}) AS best JOIN chunks ON chunks.number = best.number "
    "JOIN places ON places.chunk = best.number"
)
_SPELLINGS = "SELECT term FROM terms WHERE length(term) BETWEEN ? AND ?"


Findable = Mapping[str, str | None]
"""The parameters of ``FINDABLE``."""


class Terms:
    """Looks up words over one connection; not to be shared between threads. Inside a snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._revision = -1
        self._spellings: list[str] = []

    def similar(
        self, words: Sequence[str], beside: Sequence[str], findable: Findable
    ) -> dict[str, tuple[Spelling, ...]]:
        """Return, for each word that no findable chunk holds in any form, what is spelt alike.

        ``beside`` are all words of the question: a spelling that chunks hold together with others
        of them is likelier to be the one that is meant.
        """
        unknown = [word for word in words if not self._is_held(word, findable)]
        if not unknown:
            return {}
        self._refresh()
        others = [word for word in beside if word not in unknown]
        return {word: self._spellings_of(word, others, findable) for word in unknown}

    def name_in(self, words: Sequence[str], findable: Findable) -> frozenset[str]:
        """Return the stems of those words that make up whole findable titles, headings or terms."""
        if not words:
            return frozenset()
        return named_words(words, self._headings(words, findable), self._texts(words, findable))

    def _headings(self, words: Sequence[str], findable: Findable) -> Iterator[Headings]:
        expression = f"{{title breadcrumb}} : ({fts5_match_any(tuple(words))})"
        rows = self._connection.execute(_NAMES, {**findable, "words": expression})
        for page, title, breadcrumb in rows:
            yield Headings(page, title, breadcrumb.split(SEPARATOR))

    def _texts(self, words: Sequence[str], findable: Findable) -> Iterator[str]:
        for word in words:
            rows = self._connection.execute(_TEXTS, {**findable, "words": _match(word)})
            yield from (text for (text,) in rows)

    def _is_held(self, word: str, findable: Findable) -> bool:
        """Return whether a findable chunk holds the word, or its two halves: "wifi" is "Wi-Fi"."""
        halves = [f'"{word[:at]} {word[at:]}"' for at in range(1, len(word))]
        return any(
            self._first(_HOLDS, expression, findable)
            for expression in (_match(word), " OR ".join(halves))
        )

    def _spellings_of(
        self, word: str, others: Sequence[str], findable: Findable
    ) -> tuple[Spelling, ...]:
        """Return the nearest spellings that findable chunks hold; farther ones are not needed."""
        for similar in similar_words(word, self._spellings):
            counts = {each: self._first(_COUNT, _match(each), findable) for each in similar}
            held = {each: count for each, count in counts.items() if count}
            if held:
                beside = fts5_match_any(tuple(others)) if len(held) > 1 else ""
                return tuple(
                    Spelling(each, count, self._beside(each, beside, findable))
                    for each, count in held.items()
                )
        return ()

    def _beside(self, word: str, others: str, findable: Findable) -> int:
        """Return how many findable chunks hold a word and one of the others, if there are any."""
        expression = f"{_match(word)} AND ({others})"
        return self._first(_COUNT_STEM, expression, findable) if others else 0

    def _first(self, statement: str, expression: str, findable: Findable) -> int:
        row = self._connection.execute(statement, {**findable, "words": expression}).fetchone()
        return 0 if row is None else int(row[0])

    def _refresh(self) -> None:
        """Read the spellings again if the index changed since; 20 ms for 9,000 of them."""
        revision = int(read_facts(self._connection)["revision"])
        if revision != self._revision:
            rows = self._connection.execute(_SPELLINGS, (LEAST_LETTERS - 1, MOST_LETTERS + 1))
            self._spellings = content_words(" ".join(term for (term,) in rows if term.isalpha()))
            self._revision = revision


def _match(word: str) -> str:
    return fts5_match_any((word,))
