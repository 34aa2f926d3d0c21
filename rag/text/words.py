"""Tokenise, stem and filter the words of a text, and detect whether it is English.

Keyword search, the confidence features and the checks of claims all compare these words. The word
rules and the installed embedder support hardly any language but English, hence the detection.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    """Return the words of a text in order, in lower case, without mentions of people."""
    # Most texts mention nobody, and looking for it takes a fifth of the time.
    plain = _MENTION.sub(" ", text) if "<" in text else text
    return _WORD.findall(plain.lower().replace("\u2019", "'"))


def content_words(text: str) -> list[str]:
    """Return the distinct content words (no stop words) of a text, in order."""
    return list(dict.fromkeys(running_words(text)))


def running_words(text: str) -> list[str]:
    """Return the content words of a text in order, with repetitions."""
    return [word for word in words(text) if word not in _STOP_WORDS and len(word) > 1]


def stems(text: str) -> list[str]:
    """Return the stems of the content words, in order, with repetitions."""
    return [stem(word) for word in running_words(text)]


def identifiers(text: str) -> frozenset[str]:
    """Return identifiers such as error codes, ticket and room numbers, in lower case.

    A page without the identifier in question can't be the answer, however similar the rest is.
    """
    return frozenset(match.lower() for match in _IDENTIFIER.findall(_MENTION.sub(" ", text)))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the English stem of one lower-case word."""
    return str(_stemmer().stemWord(word.removesuffix("'s")))


@cache
def _stemmer() -> snowballstemmer.stemmer:
    # The stemmers of 30 languages: imported for the first word, not at every start.
    import snowballstemmer  # noqa: PLC0415 - only if needed

    return snowballstemmer.stemmer("english")


_LETTERS = re.compile(r"[^\W\d_]+")
_ENGLISH_WORDS = frozenset(
    """
    the a an is are was were do does did how what when where which who why can could i my we our
    you your to of in on for with and or not it this that there have has need want get if be at
    from about any by me please no should would will am
    """.split()
)
_FOREIGN_WORDS = frozenset(
    """
    der die das ein eine ich wie wo wann wer warum nicht und oder mit fur für von zu im ist sind
    kann habe mein meine wir man auf bei den dem des es el la los las un una como cómo donde dónde
    que qué cual cuál quien mi mis y o con para por no se es son puedo tengo necesito del le les
    des une je comment ou où quand qui pourquoi et avec pour pas est sont puis mon ma mes du au
    il lo gli uno come dove quando chi perche perché e con per non sono posso mio mia della di
    os as um uma onde quem porque com não é são meu minha da do na em het een ik hoe waar wie
    waarom en met voor niet van mijn kan zijn op jak gdzie kiedy nie jest czy mam moje na hur var
    och med inte jag min kan hvordan hvor jeg ikke og er
    """.split()
) - {"a", "i", "do", "on", "an", "me", "am", "no", "in", "is", "was"}
_LEAST_LATIN = 0.8


def looks_english(text: str) -> bool:
    """Return whether a text may be English: mostly Latin, and more English words than foreign."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    if letters and latin < _LEAST_LATIN * len(letters):
        return False
    found = [word.lower() for word in _LETTERS.findall(text)]
    foreign = sum(word in _FOREIGN_WORDS for word in found)
    return foreign <= 1 or foreign < sum(word in _ENGLISH_WORDS for word in found)
