"""Kinds of personal data, and where a text has some; no I/O.

A recogniser's patterns are of two sorts. Those that begin with a word ("phone 030 901820") are
looked up by that word, so that a text's words are gone through once for all of them. The others
begin with a digit or a mark, which regular expressions find quickly.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "CREDENTIAL",
    "EMAIL",
    "IBAN",
    "CARD",
    "NATIONAL_ID",
    "EMPLOYEE_ID",
    "PHONE",
    "ADDRESS",
    "PERSON",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The surest kind first: of findings that overlap, it is the one that is kept."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Personal data at the characters from ``start`` to before ``end`` of a text.

    ``ambiguous``: the words are common ones, which may mean something else where they stand alone.
    """

    kind: Kind
    start: int
    end: int
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern that begins with one of ``words``; what is personal is its group ``value``."""

    words: str
    kind: Kind
    pattern: re.Pattern[str]


CuesByWord = Mapping[str, Sequence[Cue]]


def by_word(cues: Iterable[Cue]) -> CuesByWord:
    """Return cues by each of their words, in lower case."""
    found: defaultdict[str, list[Cue]] = defaultdict(list)
    for cue in cues:
        for word in cue.words.split():
            found[word].append(cue)
    return found


def matches(kind: Kind, pattern: re.Pattern[str], text: str) -> Iterable[Finding]:
    """Yield all that a pattern matches."""
    return (Finding(kind, *match.span()) for match in pattern.finditer(text))


def without_overlaps(findings: Iterable[Finding]) -> Sequence[Finding]:
    """Return findings in order; of two that overlap the surer kind, of one kind the longer."""
    kept: list[Finding] = []
    for each in sorted(findings, key=lambda one: (KINDS.index(one.kind), one.start - one.end)):
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda one: one.start)
