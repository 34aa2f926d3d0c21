"""Words, stop words and stems: one meaning of "content word" for search, answers and gate."""

from __future__ import annotations

import functools
import re

import snowballstemmer

TOKEN = re.compile(r"[^\W_]+(?:['\u2019.][^\W_]+)*", re.UNICODE)

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any anyone anything are aren't as at be
    because been before being below between both but by can can't cannot could couldn't did didn't
    do does doesn't doing don't down during each else ever few for from further get gets getting
    give go going got had hadn't has hasn't have haven't having he hello help her here hers herself
    hey hi him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just know
    let let's like me might more most must my myself need no nor not now of off on once one only or
    other our ours ourselves out over own please same she should shouldn't so some somebody someone
    something still such than thank thanks that that's the their theirs them themselves then there
    these they they're this those through to too under until up us use very want was wasn't we
    we're were weren't what what's when where where's which while who whom whose why will with won't
    would wouldn't you you're your yours yourself yourselves
    """.split()
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return [match.group().lower().replace("\u2019", "'") for match in TOKEN.finditer(text)]


def content_words(text: str) -> list[str]:
    """Return the words that carry meaning, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in STOP_WORDS))


def stems(text: str) -> list[str]:
    """Return the stems of the content words, each once, in order."""
    return list(dict.fromkeys(stem(word) for word in content_words(text)))


@functools.lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of one lower-case word (Snowball English)."""
    return str(snowballstemmer.stemmer("english").stemWord(word))
