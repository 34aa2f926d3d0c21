"""Words as the keyword side of the house sees them: folded, stemmed, without stop words."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import snowballstemmer

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_MENTION = re.compile(r"<[@#!][^>]*>")
_IDENTIFIER = re.compile(
    r"""
    (?<![\w-])(?:
        [A-Za-z]+-?\d[\w.-]*\w      # INC0012345, KB5031234, VPN-809, B2B
      | \d+[A-Za-z][\w-]*           # 1232A, 0x80070005
      | \d{3,}                      # 809
    )(?![\w-])
    """,
    re.VERBOSE,
)

_STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anybody anyone anything are as at be because been
    before being between both but by can cannot can't could couldn't did didn't do does doesn't
    doing don't done dont during each either else etc ever every few for from further get gets
    getting go going gonna got had has hasn't have haven't having he hello help her here hers hey
    hi him his how however i i'd i'll i'm i've if im in into is isn't it it's its itself just know
    let lets like make many may maybe me might mine more most much must my myself need no nor not
    now of off ok okay on once one only onto or other our ours out over own please put really same
    say says shall she should so some somebody someone something still such sure tell than thanks
    that that's the their them then there there's these they thing things this those though to
    too up us use used using very want wanted wants was wasn't we well were what what's when where
    whether which while who whom whose why will with without won't would wouldn't yes yet you your
    yours
    """.split()
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower-cased, mentions of people left out."""
    return _WORD.findall(_MENTION.sub(" ", text).lower().replace("\u2019", "'"))


def content_words(text: str) -> list[str]:
    """Return the distinct words that say what a text is about, in order."""
    return list(dict.fromkeys(running_words(text)))


def running_words(text: str) -> list[str]:
    """Return the content words of a text in order, with repetitions."""
    return [word for word in words(text) if word not in _STOP_WORDS and len(word) > 1]


def stems(text: str) -> list[str]:
    """Return the stems of the content words, in order, with repetitions."""
    return [stem(word) for word in running_words(text)]


def identifiers(text: str) -> frozenset[str]:
    """Return error codes, ticket and room numbers and the like, lower-cased.

    A page that lacks the identifier asked for can't be the answer, however alike the rest is.
    """
    return frozenset(match.lower() for match in _IDENTIFIER.findall(_MENTION.sub(" ", text)))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the English stem of one lower-case word."""
    return str(_stemmer().stemWord(word.removesuffix("'s")))


@cache
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")
