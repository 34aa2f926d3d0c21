"""OData filters, as far as ours go: equal or greater texts, later dates, search.in and any.

All others are refused, so that none is taken that the service would read in another way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from tests.fakes.search_service.protocol import DATE, STRING, STRINGS, bad_filter, parse_date
from tests.fakes.search_service.schema import Field
from tests.fakes.search_service.text_index import Column, Mask

_STRING = r"'(?:[^']|'')*'"
_DATE = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
_TOKEN = re.compile(rf"\s*({_STRING}|{_DATE}|[A-Za-z_]\w*(?:\.\w+)?|[(),/:])")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEEPEST = 100
DEFAULT_DELIMITERS = " ,"


class Filterable(Protocol):
    """What a filter is evaluated on."""

    @property
    def fields(self) -> Mapping[str, Field]: ...

    @property
    def columns(self) -> Mapping[str, Column]: ...


def evaluate(text: str, on: Filterable) -> Mask:
    """Return the rows that a filter lets through; raise Refused for a filter that is none."""
    return _Reader(_tokens(text), on).whole()


def compares_texts(text: str) -> bool:
    """Say whether a filter asks for a range of texts."""
    return re.search(r"\bgt\b", re.sub(_STRING, "", text)) is not None


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise bad_filter(f"Syntax error at position {at} in {text!r}.")
        found.append(match[1])
        at = match.end()
    return [*found, ""]


class _Reader:
    """Recursive descent: ``or`` of ``and`` of conditions; the last token is empty."""

    def __init__(self, tokens: list[str], on: Filterable) -> None:
        self._tokens = tokens
        self._on = on
        self._at = 0
        self._depth = 0

    def whole(self) -> Mask:
        rows = self._either()
        if self._next:
            raise self._wrong()
        return rows

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _either(self) -> Mask:
        rows = self._every()
        while self._takes("or"):
            rows = rows | self._every()
        return rows

    def _every(self) -> Mask:
        rows = self._condition()
        while self._takes("and"):
            rows = rows & self._condition()
        return rows

    def _condition(self) -> Mask:
        if self._takes("not"):
            return ~self._parenthesised()
        if self._next == "(":
            return self._parenthesised()
        if self._takes("search.in"):
            name, values = self._listed()
            return self._column(name, STRING).among(values)
        name = self._name()
        if self._takes("/"):
            return self._any(self._column(name, STRINGS))
        if self._takes("ge"):
            return self._not_before(self._column(name, DATE))
        return self._compared(self._column(name, STRING))

    def _parenthesised(self) -> Mask:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise bad_filter("The expression is nested too deeply.")
        self._need("(")
        rows = self._either()
        self._need(")")
        self._depth -= 1
        return rows

    def _compared(self, column: Column) -> Mask:
        if self._takes("eq"):
            return column.among({self._string()})
        self._need("gt")
        least = self._string()
        return column.where(lambda value: value > least)

    def _not_before(self, column: Column) -> Mask:
        if not re.fullmatch(_DATE, self._next):
            raise self._wrong()
        first = parse_date(self._next)
        self._at += 1
        return column.where(lambda value: parse_date(value) >= first)

    def _any(self, column: Column) -> Mask:
        """Read the rest of ``field/any(variable: search.in(variable, ...))``."""
        for sign in ("any", "("):
            self._need(sign)
        variable = self._name()
        for sign in (":", "search.in"):
            self._need(sign)
        name, values = self._listed()
        if name != variable:
            raise bad_filter(f"{name!r} is not the range variable {variable!r}.")
        self._need(")")
        return column.among(values)

    def _listed(self) -> tuple[str, frozenset[str]]:
        """Read what is searched, and the values: ``(name, 'a|b', '|')``."""
        self._need("(")
        name = self._name()
        self._need(",")
        values, delimiters = self._string(), DEFAULT_DELIMITERS
        if self._takes(","):
            delimiters = self._string()
        self._need(")")
        return name, frozenset(re.split(f"[{re.escape(delimiters)}]", values)) - {""}

    def _column(self, name: str, kind: str) -> Column:
        field = self._on.fields.get(name)
        if field is None:
            raise bad_filter(f"Could not find a property named {name!r} on type 'search.document'.")
        if not field.filterable:
            raise bad_filter(f"{name!r} is not a filterable field.")
        if field.type != kind:
            raise bad_filter(f"{name!r} is {field.type}, where {kind} is needed.")
        return self._on.columns[name]

    def _name(self) -> str:
        name = self._next
        if not _NAME.fullmatch(name):
            raise self._wrong()
        self._at += 1
        return name

    def _string(self) -> str:
        token = self._next
        if not token.startswith("'"):
            raise self._wrong()
        self._at += 1
        return token[1:-1].replace("''", "'")

    def _takes(self, token: str) -> bool:
        found = self._next == token
        self._at += found
        return found

    def _need(self, token: str) -> None:
        if not self._takes(token):
            raise self._wrong()

    def _wrong(self) -> Exception:
        return bad_filter(f"Syntax error: {self._next or 'the end'!r} was not expected.")
