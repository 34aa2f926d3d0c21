"""How many neighbouring words of a question are neighbours in a passage too. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

from rag.words import running_words, stem, stems

_SHORT = 3
"""Stems up to this length may have lost more than an ending: "die" is that of "dying"."""


def shared_pairs(question: str, texts: Mapping[int, str]) -> dict[int, float]:
    """Return for each text the share of the question's word pairs that it holds, in [0, 1].

    A pair is two content words, stemmed, of which the second follows the first; stop words
    between them don't count. Single words say what a text touches on, pairs that it speaks of
    the same thing: the ordered feature of the sequential dependence model (Metzler and Croft,
    SIGIR 2005), with the share instead of its smoothed likelihood.

    A question of fewer than two content words has no pairs; the result is empty then.
    """
    wanted = frozenset(pairwise(stems(question)))
    if not wanted:
        return {}
    initials = {found[0] for pair in wanted for found in pair}
    begun = [(_beginning(first), _beginning(second)) for first, second in wanted]
    return {
        number: len(wanted.intersection(pairwise(_stems(text, initials)))) / len(wanted)
        if _may_hold(text.lower(), begun)
        else 0.0
        for number, text in texts.items()
    }


def _beginning(found: str) -> str:
    """Return what every word with this stem begins with; "dying" has "die"."""
    return found[:1] if len(found) <= _SHORT else found[:-1]


def _may_hold(text: str, pairs: Iterable[tuple[str, str]]) -> bool:
    """Whether a text can hold one of the pairs; most can't, and reading their words costs most."""
    shown = text.replace("\u2019", "'")
    return any(first in shown and second in shown for first, second in pairs)


def _stems(text: str, initials: Collection[str]) -> list[str]:
    """Stem only what can match, as stemming costs most and keeps a word's first letter."""
    return [stem(word) if word[0] in initials else word for word in running_words(text)]
