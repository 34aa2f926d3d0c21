"""Recognise the names of a directory's people; no I/O.

Only listed names are found. A first or last name alone counts too; one that is also a word
(`common_names.txt`) must be written as a name and stand where one stands: "ask Will", "Mark says".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from rag.personal_data.findings import Finding

MOST_PEOPLE = 50_000
_LEAST_WORDS, _MOST_WORDS = 2, 6
_LEAST_LETTERS = 3

_NAME_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_GAP = re.compile(r",? {1,2}|,|\u00a0")
_IN_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]|\|.*")
_NO_NAMES = frozenset(
    """
    abu admin al and assistant auf bin bint bot contractor da das de del della den der des desk di
    do dos dr du el en et ext external extern helpdesk ibn inc ing intern it jr la le los
    ltd md mr mrs ms msc of phd prof san service sr st support team ten ter the und van von zu zum
    zur
    """.split()
)
"""Parts of a displayed name that name nobody when they stand alone."""
_INSIDE = frozenset("\\/_#@.-=:")
"""Beside one of these without a space, a word is part of a path, host or code."""

_BEFORE_NAME = frozenset(
    """
    am approver ask asked asking boss call cc chef colleague contact dear forward frag frau gave
    hallo hello herr hey hi i'm kollege kollegin liebe lieber manager mit mr mrs ms named owner ping
    remind sir supervisor teammate tell thanks told und von with
    """.split()
)
_BEFORE_FIRST_NAME = _BEFORE_NAME | {"at", "bei", "cc", "for", "from", "name", "that", "to", "is"}
_HUMAN_ACTS = frozenset("approved asked called requested sent signed told written".split())
_AFTER_NAME = frozenset(
    """
    asked asks called said sagt says told wants went works wrote helped left retired forgot
    """.split()
)
_AFTER_FIRST_NAME = _AFTER_NAME | frozenset(
    "can can't cannot could did didn't does doesn't got had has hat is isn't ist needs was".split()
)
_MONTHS = frozenset({"march", "april", "may", "june", "july", "august"})
_NO_MONTH = frozenset({"hi", "hey", "hello", "dear", "ask", "asked", "tell", "told", "colleague"})


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, of letters alone: "Anne-Marie" and "O'Neil" are one each.

    ``keys`` are the same in lower case without accents and without a possessive.
    """

    text: str
    found: Sequence[re.Match[str]]
    keys: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Words:
        found = list(_NAME_WORD.finditer(text))
        lowered = _NAME_WORD.findall(text.lower())
        # In few scripts a letter has another length in lower case, or is none there.
        keys = lowered if len(lowered) == len(found) else [one.group().lower() for one in found]
        if not text.isascii():
            keys = list(map(_key, keys))
        elif "'s" in text:
            keys = [key.removesuffix("'s") for key in keys]
        return cls(text, found, keys)


class DirectoryNames:
    """The names of a workspace's people, and where a text has some of them.

    Names are learned while the platforms are asked who somebody is, and kept until the process
    ends; after MOST_PEOPLE no more are.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._people: dict[str, None] = {}
        self._full: set[tuple[str, ...]] = set()
        self._first: dict[str, int] = {}  # the most words of a name that begins so
        self._alone: set[str] = set()
        self._given: set[str] = set()
        self.learn(names)

    @property
    def people(self) -> tuple[str, ...]:
        """The names as they were learned."""
        return tuple(self._people)

    def learn(self, names: Iterable[str]) -> None:
        """Add names as people are displayed: "Anna Schmidt", "Schmidt, Anna (IT)"."""
        for name in names:
            known = name in self._people or len(self._people) >= MOST_PEOPLE
            words = () if known else _words_of(name)
            if words:
                self._people[name] = None
                self._add(words)
                # Directories also write "Schmidt, Anna".
                self._given.add(words[-1] if "," in name else words[0])

    def _add(self, words: tuple[str, ...]) -> None:
        for one in {words, words[::-1], (words[0], words[-1])}:
            if len(one) > 1:
                self._full.add(one)
                self._first[one[0]] = max(len(one), self._first.get(one[0], 0))
        self._alone.update(one for one in words if len(one) >= _LEAST_LETTERS)

    def find(self, words: Words) -> Iterator[Finding]:
        """Yield full names, and first or last names alone."""
        found, keys, alone, first = words.found, words.keys, self._alone, self._first
        end = 0
        for at in [at for at, key in enumerate(keys) if key in alone or key in first]:
            size = self._full_name(words, at) if at >= end else 0
            if size:
                end = at + size
                yield Finding("PERSON", found[at].start(), _end(found[end - 1]))
            elif at >= end and keys[at] in alone and self._is_person(words, at):
                common = keys[at] in _common_names()
                yield Finding("PERSON", found[at].start(), _end(found[at]), ambiguous=common)

    def _full_name(self, words: Words, at: int) -> int:
        """Return how many words from one on are a full name, 0 if none."""
        for size in range(self._first.get(words.keys[at], 0), 1, -1):
            if tuple(words.keys[at : at + size]) in self._full and _is_written(words, at, size):
                return size
        return 0

    def _is_person(self, words: Words, at: int) -> bool:
        """Return whether one word of a name stands for its person."""
        word = words.found[at]
        if not _is_free(words.text, [word]):
            return False
        if words.keys[at] not in _common_names():
            return True
        written = word.group()
        if not written[0].isupper() or (written.isupper() and len(written) > 1):
            return False
        return self._is_named(words, at)

    def _is_named(self, words: Words, at: int) -> bool:
        """Return whether the neighbours of a capitalised word that is also a name say so."""
        word, key = words.found[at], words.keys[at]
        before, after = _neighbour(words, at, -1), _neighbour(words, at, 1)
        if key in _MONTHS:
            return before in _NO_MONTH
        mention = words.text[max(0, word.start() - 1) : word.start()] == "@"
        acted = before == "by" and at > 1 and words.keys[at - 2] in _HUMAN_ACTS
        if mention or acted or _end(word) < word.end():
            return True
        if key not in self._given:
            return before in _BEFORE_NAME or after in _AFTER_NAME
        # "Is Max included?" asks for a product; "my name is Max" names a person.
        asked = before == "is" and at == 1
        return not asked and (before in _BEFORE_FIRST_NAME or after in _AFTER_FIRST_NAME)


def _is_written(words: Words, at: int, size: int) -> bool:
    """Return whether some words, which are a name, are written as one."""
    whole = words.found[at : at + size]
    a_word = all(key in _common_names() for key in words.keys[at : at + size])
    if a_word and not any(each.group()[0].isupper() for each in whole):
        return False
    gaps = (words.text[one.end() : other.start()] for one, other in pairwise(whole))
    return _is_free(words.text, whole) and all(map(_GAP.fullmatch, gaps))


def _is_free(text: str, words: Sequence[re.Match[str]]) -> bool:
    """Return whether words are no part of a path, host or code; a mention of them is free."""
    start, end = words[0].start(), words[-1].end()
    before = text[start - 1] if start else " "
    after, further = text[end : end + 1] or " ", text[end + 1 : end + 2] or " "
    if before.isdigit() or (before in _INSIDE and before not in "@:") or after.isdigit():
        return False
    if before == "@" and start > 1 and (text[start - 2].isalnum() or text[start - 2] in _INSIDE):
        return False
    return after not in _INSIDE or not (further.isalnum() or further in _INSIDE - {"."})


def _end(word: re.Match[str]) -> int:
    """Return where a word ends without its possessive."""
    return word.end() - 2 if word.group().endswith(("'s", "\u2019s")) else word.end()


def _neighbour(words: Words, at: int, step: int) -> str:
    """Return the word before or behind one of the same sentence, "" without one."""
    other = at + step
    if not 0 <= other < len(words.keys):
        return ""
    left, right = sorted((at, other))
    between = words.text[words.found[left].end() : words.found[right].start()]
    return words.keys[other] if not between.strip(" ,@") else ""


def _words_of(name: str) -> tuple[str, ...]:
    """Return the words of a displayed name that name its person.

    () for a name of one word, which may be an account's, and for one of too many.
    """
    words = Words.of(_IN_BRACKETS.sub(" ", name)).keys
    kept = tuple(each for each in words if each not in _NO_NAMES and len(each) > 1)
    return kept if _LEAST_WORDS <= len(kept) <= _MOST_WORDS else ()


def _key(word: str) -> str:
    """Return a word of lower case without accents and without a possessive."""
    if word.isascii():
        return word.removesuffix("'s")
    parts = unicodedata.normalize("NFD", word.replace("\u2019", "'").removesuffix("'s"))
    return "".join(each for each in parts if not unicodedata.combining(each))


@cache
def _common_names() -> frozenset[str]:
    source = Path(__file__).with_name("common_names.txt").read_text("utf-8")
    lines = (line for line in source.splitlines() if not line.startswith("#"))
    return frozenset(word for line in lines for word in line.split())
