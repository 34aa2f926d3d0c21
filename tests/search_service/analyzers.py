"""Text to terms; ``standard`` and ``keyword`` as the service, languages only like it (Snowball)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import snowballstemmer

DEFAULT = "standard.lucene"
_LONGEST = 255
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d_])[.'’·](?=[^\W\d_])|(?<=\d)[.,;'](?=\d))\w+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)
_STEMMERS = {
    "da": "danish", "de": "german", "en": "porter", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "nb": "norwegian",
    "no": "norwegian", "pt-PT": "portuguese", "pt-BR": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A term and where it was: offsets in characters, position in words."""

    text: str
    start: int
    end: int
    position: int


Analyzer = Callable[[str], tuple[Token, ...]]


def is_known(name: str) -> bool:
    return name in _NAMED or _language(name) is not None


def analyze(name: str, text: str) -> tuple[Token, ...]:
    """Return the terms of a text."""
    if name in _NAMED:
        return _NAMED[name](text)
    return _in_language(str(_language(name)), text)


@lru_cache(maxsize=20_000)
def query_terms(name: str, text: str) -> tuple[str, ...]:
    """Return the terms that a part of a query looks for."""
    return tuple(token.text for token in analyze(name, text))


def _language(name: str) -> str | None:
    language, _, maker = name.partition(".")
    return language if maker in {"lucene", "microsoft"} and language in _STEMMERS else None


def _matches(pattern: re.Pattern[str], text: str) -> Iterable[Token]:
    for position, match in enumerate(pattern.finditer(text)):
        if len(match[0]) <= _LONGEST:
            yield Token(match[0].lower(), match.start(), match.end(), position)


def _standard(text: str) -> tuple[Token, ...]:
    return tuple(_matches(_WORD, text))


def _keyword(text: str) -> tuple[Token, ...]:
    return (Token(text, 0, len(text), 0),) if text else ()


def _whitespace(text: str) -> tuple[Token, ...]:
    found = enumerate(re.finditer(r"\S+", text))
    return tuple(Token(m[0], m.start(), m.end(), position) for position, m in found)


def _simple(text: str) -> tuple[Token, ...]:
    return tuple(_matches(_LETTERS, text))


def _stop(text: str) -> tuple[Token, ...]:
    return tuple(token for token in _simple(text) if token.text not in _STOP_WORDS)


def _in_language(language: str, text: str) -> tuple[Token, ...]:
    tokens = _standard(text)
    if language == "en":
        tokens = tuple(t for t in tokens if t.text not in _STOP_WORDS)
    return tuple(replace(token, text=_stem(language, token.text)) for token in tokens)


@lru_cache(maxsize=200_000)
def _stem(language: str, word: str) -> str:
    stemmed: str = _stemmer(_STEMMERS[language]).stemWord(re.sub("['’]s$", "", word))
    return stemmed


@cache
def _stemmer(name: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(name)


_NAMED: dict[str, Analyzer] = {
    "standard": _standard,
    "standard.lucene": _standard,
    "keyword": _keyword,
    "whitespace": _whitespace,
    "simple": _simple,
    "stop": _stop,
}
