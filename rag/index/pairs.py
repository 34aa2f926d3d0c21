"""How many neighbouring words of a question are neighbours in a passage too. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from rag.words import running_words, stem, stems


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
    return {
        number: len(wanted.intersection(pairwise(_stems(text, initials)))) / len(wanted)
        for number, text in texts.items()
    }


def _stems(text: str, initials: Collection[str]) -> list[str]:
    """Stem only what can match, as stemming costs most and keeps a word's first letter."""
    return [stem(word) if word[0] in initials else word for word in running_words(text)]
