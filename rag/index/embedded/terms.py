"""Look up how readable chunks spell a word, and which words name something in them.

Every answer is taken inside the reader's permissions. The list of all spellings, the same for every
reader, only proposes candidates: one that no readable chunk holds is not returned.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.index.embedded.schema import SEPARATOR
from rag.index.embedded.vectors import read_facts
from rag.index.hybrid_search import fts5_match_any
from rag.text.definitions import defined_terms
from rag.text.spelling import LEAST_LETTERS, MOST_LETTERS, Spelling, similar_words
from rag.text.words import content_words, stems

_READABLE = """
    JOIN places ON places.chunk = {0}.rowid WHERE {0} MATCH ?
    AND places.scope IN (SELECT value FROM json_each(?))
    AND places.page NOT IN (SELECT value FROM json_each(?))
"""
_WITH_STEM = _READABLE.format("words")
_HOLDS = f"SELECT 1 FROM words {_WITH_STEM} LIMIT 1"  # noqa: S608 - constants
_COUNT = f"SELECT count(*) FROM spellings {_READABLE.format('spellings')}"  # noqa: S608
_COUNT_STEM = f"SELECT count(*) FROM words {_WITH_STEM}"  # noqa: S608
_TEXTS = (
    "SELECT chunks.text FROM words JOIN chunks ON chunks.number = words.rowid "  # noqa: S608
    f"{_WITH_STEM} ORDER BY bm25(words) LIMIT 50"
)
_NAMES = (
    "SELECT DISTINCT places.page, chunks.title, chunks.breadcrumb FROM words "  # noqa: S608
    f"JOIN chunks ON chunks.number = words.rowid {_WITH_STEM}"
)
_SPELLINGS = "SELECT term FROM terms WHERE length(term) BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True)
class Readable:
    """The ids of the scopes that may be searched and the pages that are left out, encoded."""

    scopes: str
    excluded: str


class Terms:
    """Looks up words over one connection; not to be shared between threads. Inside a snapshot."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._revision = -1
        self._spellings: list[str] = []

    def similar(
        self, words: Sequence[str], beside: Sequence[str], readable: Readable
    ) -> dict[str, tuple[Spelling, ...]]:
        """Return, for each word that no readable chunk holds in any form, what is spelt alike.

        ``beside`` are all words of the question: a spelling that chunks hold together with others
        of them is likelier to be the one that is meant.
        """
        unknown = [word for word in words if not self._is_held(word, readable)]
        if not unknown:
            return {}
        self._refresh()
        others = [word for word in beside if word not in unknown]
        return {word: self._spellings_of(word, others, readable) for word in unknown}

    def name_in(self, words: Sequence[str], readable: Readable) -> frozenset[str]:
        """Return the stems of those words that make up whole readable titles, headings or terms.

        A heading that several pages share, such as "Contacts", is their form and names nothing.
        """
        asked = frozenset(stems(" ".join(words)))
        if not asked:
            return frozenset()
        named = (*self._titles_and_headings(words, readable), *self._defined_terms(words, readable))
        return frozenset().union(*(name for name in named if name <= asked))

    def _titles_and_headings(
        self, words: Sequence[str], readable: Readable
    ) -> Iterator[frozenset[str]]:
        expression = f"{{title breadcrumb}} : ({fts5_match_any(tuple(words))})"
        rows = self._connection.execute(
            _NAMES, (expression, readable.scopes, readable.excluded)
        ).fetchall()
        pages: dict[str, set[int]] = defaultdict(set)
        for page, _, breadcrumb in rows:
            for part in breadcrumb.split(SEPARATOR)[1:]:
                pages[part].add(page)
        titles = {title for _, title, _ in rows}
        headings = {part for part, found in pages.items() if len(found) == 1}
        yield from filter(None, (frozenset(stems(name)) for name in titles | headings))

    def _defined_terms(self, words: Sequence[str], readable: Readable) -> Iterator[frozenset[str]]:
        for word in words:
            rows = self._connection.execute(
                _TEXTS, (_match(word), readable.scopes, readable.excluded)
            )
            for (text,) in rows:
                yield from defined_terms(text)

    def _is_held(self, word: str, readable: Readable) -> bool:
        """Return whether a readable chunk holds the word, or its two halves: "wifi" is "Wi-Fi"."""
        halves = [f'"{word[:at]} {word[at:]}"' for at in range(1, len(word))]
        return any(
            self._first(_HOLDS, expression, readable)
            for expression in (_match(word), " OR ".join(halves))
        )

    def _spellings_of(
        self, word: str, others: Sequence[str], readable: Readable
    ) -> tuple[Spelling, ...]:
        """Return the nearest spellings that readable chunks hold; farther ones are not needed."""
        for similar in similar_words(word, self._spellings):
            counts = {each: self._first(_COUNT, _match(each), readable) for each in similar}
            held = {each: count for each, count in counts.items() if count}
            if held:
                beside = fts5_match_any(tuple(others)) if len(held) > 1 else ""
                return tuple(
                    Spelling(each, count, self._beside(each, beside, readable))
                    for each, count in held.items()
                )
        return ()

    def _beside(self, word: str, others: str, readable: Readable) -> int:
        """Return how many readable chunks hold a word and one of the others, if there are any."""
        expression = f"{_match(word)} AND ({others})"
        return self._first(_COUNT_STEM, expression, readable) if others else 0

    def _first(self, statement: str, expression: str, readable: Readable) -> int:
        row = self._connection.execute(
            statement, (expression, readable.scopes, readable.excluded)
        ).fetchone()
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
