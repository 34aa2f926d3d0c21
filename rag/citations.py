"""Checks what a model says against the passages that it cites. Pure.

What is shown of a passage is always its own bytes; what is shown of the model is plain text whose
figures, dates, codes and addresses stand in the passages it quotes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.particulars import unsupported
from rag.plain_text import plain_text, visible
from rag.types import Chunk, Citation, Claim

LONGEST_CLAIM = 600
"""Characters of one claim; a longer one is no claim."""

_MARKS = re.compile(
    r"[*`]|!?\[(?=[^\[\]]*\]\()"
    r"|(?<=[^\[\]])\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)"
)
"""Emphasis marks, and what of a Markdown link is not its label."""

_SINGLE = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u00b4"), "'")
_DOUBLE = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"), '"')
_QUOTE_MARKS = _SINGLE | _DOUBLE
_ENUMERATION = re.compile(r"\A(?:(?:step\s+)?\d{1,2}[.):]|[-*+\u2022])\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_WORD_BYTES = 5


@dataclass(frozen=True, slots=True)
class Located:
    """A quote as it is stored; ``exact`` when the model copied it byte for byte."""

    chunk_id: str
    quote: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim that passed, and its quotes as they were found; ``claim`` is None when it failed."""

    claim: Claim | None
    located: tuple[Located, ...]


def locate(quote: str, text: str) -> str | None:
    """Return the part of ``text`` that a quote means, byte for byte as stored, or None.

    Looked for as it is first; then by the same characters in another white space, with other
    quotation marks or compatibility forms (ligatures), with or without emphasis marks, link
    targets and characters that no reader sees. Case, spelling and figures must be the same.
    """
    wanted = quote.strip()
    if wanted in text:
        return wanted or None
    folded, places = _folded(text)
    needle = _folded(wanted)[0].strip()
    start = folded.find(needle) if needle else -1
    if start < 0:
        return None
    return _with_marks(text, places[start], places[start + len(needle) - 1] + 1)


def says_something(quote: str) -> bool:
    """Whether a quote is long enough to support anything: two words, a figure, or a long word."""
    words = _WORD.findall(quote)
    return (
        len(words) > 1
        or any(word.isnumeric() for word in words)
        or any(len(word.encode()) >= _SHORTEST_WORD_BYTES for word in words)
    )


def check_claim(
    text: str, quotes: Sequence[tuple[str, str]], chunks: Mapping[str, Chunk]
) -> Checked:
    """Check a claim and its (chunk id, quote) pairs; only passages of ``chunks`` count.

    A quote that is in another of the passages than the one named is cited from there. The claim
    fails when no quote is found, when nothing is left of its text, and when it has a figure, date,
    code or address that none of its passages has.
    """
    located = tuple(
        found for chunk_id, quote in quotes if (found := _locate_in(chunk_id, quote, chunks))
    )
    shown = _one_line(text)
    if not located or not shown or len(shown) > LONGEST_CLAIM:
        return Checked(None, located)
    cited = [chunks[chunk_id] for chunk_id in dict.fromkeys(one.chunk_id for one in located)]
    if unsupported(shown, [searchable(chunk) for chunk in cited]):
        return Checked(None, located)
    citations = tuple(dict.fromkeys(Citation(one.chunk_id, one.quote) for one in located))
    return Checked(Claim(shown, citations), located)


def searchable(chunk: Chunk) -> str:
    """Return everything a passage says: where it stands, and its text."""
    return "\n".join((*chunk.breadcrumb, chunk.title, chunk.section, chunk.text))


def _one_line(text: str) -> str:
    shown = " ".join(plain_text(text).split())
    return plain_text(_ENUMERATION.sub("", shown))


def _locate_in(chunk_id: str, quote: str, chunks: Mapping[str, Chunk]) -> Located | None:
    named = [chunk_id] if chunk_id in chunks else []
    for candidate in (*named, *(other for other in chunks if other != chunk_id)):
        stored = locate(quote, chunks[candidate].text)
        if stored is not None and says_something(stored):
            exact = candidate == chunk_id and stored == quote
            return Located(candidate, stored, exact)
    return None


def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text as it is compared, and where each of its characters comes from."""
    characters: list[str] = []
    places: list[int] = []
    marks = _marked_places(text)
    for place, character in enumerate(text):
        if place in marks:
            continue
        for folded in _folded_character(character):
            if folded == " " and characters and characters[-1] == " ":
                continue
            characters.append(folded)
            places.append(place)
    return "".join(characters), places


@functools.lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    if character.isspace():
        return " "
    return visible(character).translate(_QUOTE_MARKS)


def _with_marks(text: str, start: int, end: int) -> str:
    """Return ``text[start:end]`` with the marks that touch it, so that none is halved."""
    marks = _marked_places(text)
    while start - 1 in marks:
        start -= 1
    while end in marks:
        end += 1
    return text[start:end]


def _marked_places(text: str) -> frozenset[int]:
    spans = (range(*match.span()) for match in _MARKS.finditer(text))
    return frozenset(place for span in spans for place in span)
