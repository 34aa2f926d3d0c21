"""Where running text may be cut: lines, sentences, clauses, words, and at worst anywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_END = re.compile(
    r"[.!?…]+[\"'\u201d\u2019)\]*_`]*(?P<gap>\s+)(?=\S)|[\u3002\uff01\uff1f](?P<none>)(?=\S)|(?P<line>\n+)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|approx|incl|dept|est|mr|mrs|ms|dr|st|inc|ltd|jr|sr|u\.s|z\.b|bzw|ca)"
    r"|\b[a-z])\.$",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(r"\b(?:no|nr|fig|sec|art|p|pp|vol)\.$", re.IGNORECASE)
_STARTS_SENTENCE = re.compile(r"[^a-z,;:)\]]")
_CLAUSE = re.compile(r"(?<=[,;:\u2013\u2014|])\s+")
_CHARACTERS_PER_TOKEN = 8
"""Longer than that for each token allowed, a text is cut without counting."""

Size = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text and what stood before it: a newline, a space, or nothing."""

    text: str
    joint: str


def sentences(text: str) -> list[Part]:
    """Return the sentences of a text; every line ends one."""
    parts: list[Part] = []
    start, joint = 0, ""
    for match in _END.finditer(text):
        if match["line"] is None and not _ends(text, start, match):
            continue
        gap = match["line"] or match["gap"] or ""
        parts.append(Part(text[start : match.end() - len(gap)], joint))
        start, joint = match.end(), "\n" if "\n" in gap else gap[:1]
    parts.append(Part(text[start:], joint))
    return [part for part in parts if part.text.strip()]


def cut(text: str, most: int, size: Size) -> list[Part]:
    """Return a text in parts of at most ``most`` tokens, cut as gently as can be."""
    return [
        piece
        for sentence in sentences(text)
        for piece in _fitted(sentence, most, size, (_clauses, _halves))
    ]


Cutter = Callable[[str], Iterable[Part]]


def _fitted(part: Part, most: int, size: Size, cutters: tuple[Cutter, ...]) -> Iterable[Part]:
    countable = len(part.text) <= most * _CHARACTERS_PER_TOKEN
    if len(part.text) <= 1 or (countable and size(part.text) <= most):
        yield part
        return
    cutter, rest = cutters[0], cutters[1:] or cutters
    joint = part.joint
    for piece in cutter(part.text):
        yield from _fitted(Part(piece.text, joint or piece.joint), most, size, rest)
        joint = ""


def _clauses(text: str) -> Iterable[Part]:
    start, joint = 0, ""
    for match in _CLAUSE.finditer(text):
        yield Part(text[start : match.start()], joint)
        start, joint = match.end(), " "
    yield Part(text[start:], joint)


def _halves(text: str) -> Iterable[Part]:
    """Cut at the white space nearest to the middle, or in the middle of a giant word."""
    middle = len(text) // 2
    before = text.rfind(" ", 0, middle)
    after = text.find(" ", middle)
    places = [place for place in (before, after) if place > 0]
    if not places:
        return Part(text[:middle], ""), Part(text[middle:], "")
    place = min(places, key=lambda position: abs(position - middle))
    return Part(text[:place], ""), Part(text[place + 1 :], " ")


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    if not _STARTS_SENTENCE.match(text, match.end()):
        return False
    before = text[max(start, match.start() - 12) : match.start() + 1]
    if text[match.end()].isdecimal() and _BEFORE_NUMBER.search(before):
        return False
    return _ABBREVIATION.search(before) is None
