"""Recognise what a question names or asks the meaning of, and the texts that say it; pure.

A glossary is a table of two columns or a list of terms in bold; other pages expand an acronym where
they first use it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rag.text.words import stems

_SAYS_MEANING = re.compile(
    r"\b(?:mean(?:s|ing|ings)?|stands?\s+for|short\s+for|define|definitions?)\b", re.IGNORECASE
)
_WHAT_IS = re.compile(r"^\W*(?:what|who)(?:\s+(?:is|are)|['\u2019]?s)\b", re.IGNORECASE)
_ACRONYM = re.compile(r"\b[A-Z]{2}|\b[A-Z][a-z&/]+[A-Z]")
_FRAME = frozenset(stems("mean meaning stand stands short define definition term word acronym"))
"""Stems of the words around the term; "abbreviation" and the like are dropped with them."""

_ROW = re.compile(r"^[ \t]*\|([^|\n]+)\|([^|\n]+)\|[ \t]*$", re.MULTILINE)
_HEADER = re.compile(r"^[ \t]*\|[^\n]*\n(?=[ \t]*\|[ \t:|-]+$)", re.MULTILINE)
_BOLD_TERM = re.compile(
    r"^[^\S\n]*(?:[-*+]\s+)?\*\*([^*\n]+?):?\*\*\s*(?:[:\u2013\u2014(-]|$)", re.MULTILINE
)
_RULE = re.compile(r"[\s:|-]+")

_MOST_BEFORE = 90
"""The most characters before a bracket that may be the long form of the acronym in it."""

_IN_BRACKET = re.compile(r"\(([A-Z][A-Za-z&/-]{1,9})\)")
_NOT_IN_LONG_FORM = re.compile(r"[\n|.;:]")
_AFTER_ACRONYM = re.compile(r"\b([A-Z][A-Za-z&/-]{1,9})\s+\(([^)\n]{3,90})\)")


def asked_term(question: str) -> frozenset[str]:
    """Return the stems of the term whose meaning is asked for; empty for any other question."""
    if not (_SAYS_MEANING.search(question) or _WHAT_IS.search(question)):
        return frozenset()
    return frozenset(stems(question)) - _FRAME


def defined_terms(text: str) -> Iterator[frozenset[str]]:
    """Yield the stems of each term that a passage defines, in no order."""
    yield from filter(None, (frozenset(stems(name)) for name in _defined_names(text)))


def defines(question: str, text: str) -> bool:
    """Return whether a text defines the term whose meaning a question asks for.

    For "what is …" only an acronym counts: a row of any table may begin with another word and say
    something else of it than its meaning.
    """
    term = asked_term(question)
    said = _SAYS_MEANING.search(question) is not None
    names = (name for name in _defined_names(text) if said or _ACRONYM.search(name))
    return bool(term) and any(term == frozenset(stems(name)) for name in names)


@dataclass(frozen=True, slots=True)
class Headings:
    """The title of a chunk's page, and its breadcrumb, which begins with the space."""

    page: Hashable
    title: str
    breadcrumb: Sequence[str]


def named_words(
    words: Sequence[str], chunks: Iterable[Headings], texts: Iterable[str]
) -> frozenset[str]:
    """Return the stems of those words that make up whole titles, headings or defined terms.

    A heading that several pages share, such as "Contacts", is their form and names nothing.
    """
    asked = frozenset(stems(" ".join(words)))
    names = chain(_titles_and_headings(list(chunks)), *map(defined_terms, texts))
    return frozenset().union(*(name for name in names if name <= asked))


def _titles_and_headings(chunks: Collection[Headings]) -> Iterator[frozenset[str]]:
    pages: dict[str, set[Hashable]] = defaultdict(set)
    for chunk in chunks:
        for part in chunk.breadcrumb[1:]:
            pages[part].add(chunk.page)
    headings = {part for part, found in pages.items() if len(found) == 1}
    for name in {chunk.title for chunk in chunks} | headings:
        yield frozenset(stems(name))


def _defined_names(text: str) -> Iterator[str]:
    yield from _glossary_terms(text)
    yield from _expanded_acronyms(text)


def _glossary_terms(text: str) -> Iterator[str]:
    for term, meaning in _ROW.findall(_HEADER.sub("", text)):
        if not _RULE.fullmatch(meaning):
            yield term
    yield from _BOLD_TERM.findall(text)


def _expanded_acronyms(text: str) -> Iterator[str]:
    pairs: Iterable[tuple[str, str]] = (
        *_before_brackets(text),
        *_AFTER_ACRONYM.findall(text),
    )
    yield from (acronym for acronym, long in pairs if _expands(long, acronym))


def _before_brackets(text: str) -> Iterator[tuple[str, str]]:
    """Yield each acronym in brackets with the text before it, from the bracket before that on.

    From the bracket backwards: a pattern that begins with the text would be tried at every letter,
    and take the square of the time on a run of spaces.
    """
    end = 0
    for bracket in _IN_BRACKET.finditer(text):
        at = bracket.start()
        before = text[max(end, at - _MOST_BEFORE) : at].rstrip()
        yield bracket[1], _NOT_IN_LONG_FORM.split(before)[-1]
        end = bracket.end()


def _expands(long: str, acronym: str) -> bool:
    """Return whether the acronym's letters occur in order, the first one as the first of a word.

    The algorithm of Schwartz and Hearst (Pacific Symposium on Biocomputing, 2003), from the end
    backwards.
    """
    at = len(long)
    letters = [letter for letter in acronym.lower() if letter.isalpha()]
    for number in range(len(letters) - 1, -1, -1):
        at = long.lower().rfind(letters[number], 0, at)
        while number == 0 and at > 0 and long[at - 1].isalnum():
            at = long.lower().rfind(letters[0], 0, at)
        if at < 0:
            return False
    return bool(letters) and acronym not in long
