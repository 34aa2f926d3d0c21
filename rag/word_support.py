"""How far the words of a statement stand in its sources; pure.

Words are compared by their stems and as parts of compounds, so that "Urlaub" stands in
"Jahresurlaub" and "log in" in "login". A paraphrase that shares no word with its source is not
understood.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from rag.words import stems

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|(?<=[\u3002\uff01\uff1f])|\n")
_BY_CHARACTERS = re.compile("[\u0590-\u1cff\u3040-\u9fff\uac00-\ud7af]+")
"""Scripts without spaces between words, or whose vowels are marks: two characters are one word."""

_LEAST_WORDS = 3
"""A shorter sentence is judged with the others alone: "At once." may share no word with a page.

Of a whole statement as short, one word is enough: no share can be told of so few.
"""

_SHORTEST_PART = 4
_BEGINNING = 5


def supported(said: str, source: str) -> float:
    """Return which share of the words stands in the source, 0..1: of the least supported sentence.

    Numbers do not count, which are compared as such; a statement without words has 1.
    """
    known = _worded(source)
    beginnings = frozenset(each[:_BEGINNING] for each in known if len(each) >= _BEGINNING)
    shares = [_share(each, known, beginnings) for each in [said, *_long_sentences(said)]]
    return min(shares)


def literal(said: str, source: str) -> float:
    """Return which share of the pairs of neighbouring words the source has as well, 0..1."""
    pairs = set(pairwise(stems(said)))
    return len(pairs.intersection(pairwise(stems(source)))) / len(pairs) if pairs else 1.0


def _long_sentences(said: str) -> list[str]:
    return [each for each in _SENTENCE.split(said) if len(_worded(each)) >= _LEAST_WORDS]


def _share(said: str, known: Collection[str], beginnings: Collection[str]) -> float:
    words = _worded(said)
    found = sum(_stands_in(word, known, beginnings) for word in words)
    if len(words) < _LEAST_WORDS:
        return float(found > 0 or not words)
    return found / len(words)


def _worded(said: str) -> frozenset[str]:
    words = (word for word in stems(_BY_CHARACTERS.sub(" ", said)) if not word.isnumeric())
    pairs = (pairwise(run) for run in _BY_CHARACTERS.findall(said))
    return frozenset([*words, *(first + second for each in pairs for first, second in each)])


def _stands_in(word: str, known: Collection[str], beginnings: Collection[str]) -> bool:
    if word in known or word[:_BEGINNING] in beginnings:
        return True
    return len(word) >= _SHORTEST_PART and any(
        word in other or (len(other) >= _SHORTEST_PART and other in word) for other in known
    )
