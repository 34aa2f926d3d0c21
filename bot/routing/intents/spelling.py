"""Mends slips of the finger in a few words that must not be missed."""

from __future__ import annotations

import functools

WORDS = (
    "human",
    "person",
    "people",
    "agent",
    "operator",
    "representative",
    "someone",
    "somebody",
    "ticket",
    "incident",
    "speak",
    "talk",
    "connect",
    "transfer",
    "escalate",
    "support",
    "technician",
    "supervisor",
    "colleague",
    "please",
    "useless",
    "complaint",
    "complain",
    "chatbot",
    "contact",
    "helpdesk",
    "assistant",
    "helpful",
    "advisor",
    "understand",
)

_MEANT = frozenset(
    """
    persona personal humane humans agents agency tickets persons operators supports supported
    speaks connects connected transfers transferred contacts assistance assistants complaints
    complains peoples talks talked talking connection colleagues incidents complained humanly
    tak talc tack spear spoke contract contracts contrast connector operate operated escalated
    escalates escalator technical speaker teak tale tall tank task pleased pleasure pleas
    personnel operates assist helpfully advisory advisors adviser advise supporter supporting
    """.split()
)
_SHORT, _LONG = 5, 8
_MOST_WORDS = 80
"""A long text is mended at its beginning and end only; a request stands there."""


def mended(plain_text: str) -> str:
    """Return the text with near misses of the watched words replaced by them."""
    words = plain_text.split(" ")
    if len(words) <= 2 * _MOST_WORDS:
        return " ".join(map(_mend, words))
    middle = words[_MOST_WORDS:-_MOST_WORDS]
    return " ".join([*map(_mend, words[:_MOST_WORDS]), *middle, *map(_mend, words[-_MOST_WORDS:])])


@functools.lru_cache(maxsize=8192)
def _mend(word: str) -> str:
    if len(word) < _SHORT - 1 or word in WORDS or word in _MEANT or not word.isalpha():
        return word
    return next((meant for meant in WORDS if _near(word, meant)), word)


def _near(word: str, meant: str) -> bool:
    """Whether one slip (two in long words) makes the word; never in the first letter alone."""
    slips = 2 if len(meant) >= _LONG else 1
    if abs(len(word) - len(meant)) > slips:
        return False
    if word[0] != meant[0] and word[:2] != meant[1::-1]:
        return False
    if len(meant) < _SHORT:  # "talk": "walk" and "tall" are words, "tlak" and "tallk" are not
        return sorted(word) == sorted(meant) or _without_doubles(word) == meant
    return _distance(word, meant) <= slips


def _without_doubles(word: str) -> str:
    return "".join(c for i, c in enumerate(word) if not i or c != word[i - 1])


def _distance(left: str, right: str) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours (Damerau)."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
