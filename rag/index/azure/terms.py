"""Look up how findable chunks spell a word, and which words name something in them.

The service lists no words within a filter, so they are read from the texts of chunks that a search
finds, filtered as the question's own search is. Every word that is returned is therefore one that
the readers may read. Nothing is kept between questions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rag.index.azure.connection import NO_RETRIES, Connection
from rag.index.azure.documents import Facts, StoredDocument
from rag.index.azure.queries import find
from rag.index.azure.retriever import escaped, permission_filter, simple_query
from rag.index.azure.schema import SEARCHED
from rag.retrying import Deadline
from rag.text.definitions import Headings, named_words
from rag.text.spelling import MOST_WORDS, Spelling, most_errors, similar_words
from rag.text.words import content_words, stem, words
from rag.types import Principal, Question

MOST_READ = 50
"""The most chunks whose words are read; a word that more of them hold counts as if in so many."""

_MOST_NAMED = 250
"""The most chunks whose titles, headings and definitions are read."""

_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|s)$")

_MOST_REQUESTS = 2
_HELD_FIRST = 1000
"""The weight of a word as it stands over all that is spelt alike: its chunks come first."""

_EVERY_WORD = ("breadcrumb", "content")
"""Fields that together have every word of a chunk; the breadcrumb has its title and headings."""

_SHARE = 0.25
"""Share of a search's deadline for looking words up: an answer can do without."""


class Terms:
    """Looks up words in the index that the given facts name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def similar(
        self, facts: Facts, question: Question, readers: frozenset[Principal], asked: Sequence[str]
    ) -> dict[str, tuple[Spelling, ...]]:
        """Return, for each word that no findable chunk holds in any form, what is spelt alike.

        Chunks that hold a word come first. If those of known words take all places, the others are
        asked for once more without them, and are left out if that happens again.
        """
        unknown = list(asked[:MOST_WORDS])
        deadline = Deadline(_SHARE * self._connection.timeout_seconds)
        for _ in range(_MOST_REQUESTS):
            sought = unknown
            chunks = await self._near(facts, question, readers, sought, deadline)
            unknown = [each for each in sought if not any(one.holds(each) for one in chunks)]
            if not unknown:
                break
            if _shows_all_holders(chunks, sought):
                others = [each for each in content_words(question.text) if each not in unknown]
                return {each: _nearest(each, others, chunks) for each in unknown}
        return {}

    async def name_in(
        self, facts: Facts, question: Question, readers: frozenset[Principal], asked: Sequence[str]
    ) -> frozenset[str]:
        """Return the stems of those words that make up whole findable titles, headings or terms."""
        documents = await self._find(
            facts,
            question,
            readers,
            Deadline(_SHARE * self._connection.timeout_seconds),
            search_text=simple_query(tuple(asked)),
            search_fields=[*SEARCHED],
            select=["space", "page_id", "page_title", "breadcrumb", "content"],
            top=_MOST_NAMED,
        )
        return named_words(
            asked, map(_headings, documents), (each["content"] for each in documents)
        )

    async def _near(
        self,
        facts: Facts,
        question: Question,
        readers: frozenset[Principal],
        sought: Sequence[str],
        deadline: Deadline,
    ) -> list[_Chunk]:
        documents = await self._find(
            facts,
            question,
            readers,
            deadline,
            search_text=spelling_query(sought),
            query_type="full",
            search_fields=[*_EVERY_WORD],
            select=[*_EVERY_WORD],
            top=MOST_READ,
        )
        return [_Chunk.of(document) for document in documents]

    async def _find(
        self,
        facts: Facts,
        question: Question,
        readers: frozenset[Principal],
        deadline: Deadline,
        **parts: Any,  # noqa: ANN401 - arguments of the SDK
    ) -> Sequence[StoredDocument]:
        """Return what is found of what the question's own search could find, in one try."""
        if not parts["search_text"] or not readers or question.spaces == frozenset():
            return ()
        found = await find(
            self._connection,
            facts.index,
            policy=NO_RETRIES,
            seconds=deadline.remaining_seconds,
            filter=permission_filter(question, readers),
            search_mode="any",
            scoring_statistics="global",
            **parts,
        )
        return found.documents


def spelling_query(sought: Sequence[str]) -> str:
    """Return a query in the full Lucene syntax for chunks with the words or with similar ones.

    Fuzzy terms are not analysed, and the index may have base forms of words alone, so that each
    word is also sought without its ending. A word is also held in two halves: "wifi" is "Wi-Fi".
    """
    return " ".join(map(_word_query, sought))


def _word_query(word: str) -> str:
    halves = (f'"{escaped(f"{word[:at]}-{word[at:]}")}"' for at in range(1, len(word)))
    held = " ".join((escaped(word), *halves))
    forms = dict.fromkeys((word, _ENDING.sub("", word)))
    similar = " ".join(f"{escaped(form)}~{most_errors(word)}" for form in forms)
    return f"({held})^{_HELD_FIRST} {similar}"


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The words of a chunk, and each two that follow each other as one."""

    words: frozenset[str]
    joined: frozenset[str]

    @classmethod
    def of(cls, document: StoredDocument) -> _Chunk:
        text = "\n".join((*document["breadcrumb"], document["content"]))
        found = [each.removesuffix("'s") for each in words(text)]
        return cls(frozenset(found), frozenset(map("".join, pairwise(found))))

    def holds(self, word: str) -> bool:
        """Return whether it has the word in any form; stems have the first letter of their word."""
        sought = stem(word)
        forms = (each for each in self.words if each[0] == word[0])
        return word in self.joined or any(stem(each) == sought for each in forms)


def _shows_all_holders(chunks: Sequence[_Chunk], sought: Sequence[str]) -> bool:
    """Return whether no chunk that holds one of the words is missing.

    None is after a chunk that holds none of them, or before the end of all that was found.
    """
    held = (any(chunk.holds(word) for word in sought) for chunk in chunks)
    return len(chunks) < MOST_READ or not all(held)


def _nearest(word: str, others: Collection[str], chunks: Sequence[_Chunk]) -> tuple[Spelling, ...]:
    """Return the nearest spellings with the number of chunks that hold them, also beside others."""
    known = content_words(" ".join(sorted(frozenset().union(*(each.words for each in chunks)))))
    nearest = next(iter(similar_words(word, [each for each in known if each.isalpha()])), [])
    counted = []
    for each in nearest:
        holding = [chunk for chunk in chunks if each in chunk.words]
        beside = sum(any(chunk.holds(other) for other in others) for chunk in holding)
        counted.append(Spelling(each, len(holding), beside))
    return tuple(counted)


def _headings(document: StoredDocument) -> Headings:
    page = (document["space"], document["page_id"])
    return Headings(page, document["page_title"], tuple(document["breadcrumb"]))
