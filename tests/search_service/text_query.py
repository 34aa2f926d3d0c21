"""The simple query syntax, read as Lucene's simple parser reads it: nothing is ever an error.

``+`` and, ``|`` or, ``-`` not (at a word's start), ``"`` phrase, ``*`` prefix, ``( )``, each taken
literally after a backslash. What is open at the end is read again as if its sign were not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["any", "all"]
_ENDS = frozenset('"|+() \t\n\r')


@dataclass(frozen=True, slots=True)
class Term:
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    text: str


@dataclass(frozen=True, slots=True)
class Everything:
    """``*`` alone."""


@dataclass(frozen=True, slots=True)
class But:
    """All documents but these; under ``any`` it adds nearly all, as the service documents."""

    query: Query


@dataclass(frozen=True, slots=True)
class Joined:
    operator: Mode
    parts: tuple[Query, ...]


Query = Term | Phrase | Prefix | Everything | But | Joined


def parse_simple(text: str, mode: Mode) -> Query | None:
    """Return the query; None where there is nothing to look for."""
    return _Parser(text, mode).whole()


class _Parser:
    def __init__(self, text: str, mode: Mode) -> None:
        self._text = text
        self._mode = mode
        self._at = 0
        self._top: Query | None = None
        self._last: Mode | None = None
        self._now: Mode | None = None
        self._negated = False

    def whole(self) -> Query | None:
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._step(sign)
            self._negated = self._negated and sign == "-"
        return self._top

    def _step(self, sign: str) -> None:
        if sign == "(":
            self._group()
        elif sign == '"':
            self._phrase()
        elif sign in "+|":
            self._operator("all" if sign == "+" else "any")
        elif sign == "-":
            self._negated = not self._negated
            self._at += 1
        elif sign in ") \t\n\r":
            self._at += 1
        else:
            self._word()

    def _operator(self, operator: Mode) -> None:
        if self._now is None and self._top is not None:
            self._now = operator
        self._at += 1

    def _group(self) -> None:
        end = self._closing()
        if end is None:
            self._at += 1
            return
        inside = parse_simple(self._text[self._at + 1 : end], self._mode)
        self._at = end + 1
        self._add(inside)

    def _closing(self) -> int | None:
        """Return where the bracket here is closed; brackets in brackets count."""
        depth, at = 0, self._at
        while at < len(self._text):
            if self._text[at] == "\\":
                at += 1
            elif self._text[at] == "(":
                depth += 1
            elif self._text[at] == ")":
                depth -= 1
                if depth == 0:
                    return at
            at += 1
        return None

    def _phrase(self) -> None:
        words: list[str] = []
        at = self._at + 1
        while at < len(self._text) and self._text[at] != '"':
            at += self._text[at] == "\\"
            words.append(self._text[at : at + 1])
            at += 1
        if at >= len(self._text):
            self._at += 1
            return
        self._at = at + 1
        self._add(Phrase("".join(words)) if words else None)

    def _word(self) -> None:
        letters: list[str] = []
        prefix = False
        while self._at < len(self._text) and self._text[self._at] not in _ENDS:
            sign = self._text[self._at]
            escaped = sign == "\\"
            self._at += escaped
            letters.append(self._text[self._at : self._at + 1])
            prefix = letters[-1] == "*" and not escaped
            self._at += 1
        self._add(_named("".join(letters), prefix=prefix))

    def _add(self, query: Query | None) -> None:
        if query is not None:
            self._join(But(query) if self._negated else query)

    def _join(self, query: Query) -> None:
        if self._top is None:
            self._top = query
        else:
            operator = self._now or self._mode
            before = self._top
            parts = before.parts if isinstance(before, Joined) and self._last == operator else None
            self._top = Joined(operator, (*(parts or (before,)), query))
            self._last = operator
        self._now = None


def _named(word: str, *, prefix: bool) -> Query | None:
    if not prefix:
        return Term(word) if word else None
    return Prefix(word[:-1]) if len(word) > 1 else Everything()
