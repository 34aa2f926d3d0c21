"""OData filters as trees: the subset of the language that is used here, read strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tests.search_service.edm import parse_date
from tests.search_service.errors import bad_filter

Comparator = Literal["eq", "ne", "gt", "ge", "lt", "le"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; ``kind`` is one of string, number, date, boolean, null."""

    kind: str
    value: str | float | bool | None


@dataclass(frozen=True, slots=True)
class Path:
    """A field, or the variable of a lambda: the checker knows which."""

    name: str


@dataclass(frozen=True, slots=True)
class Comparison:
    path: Path
    comparator: Comparator
    constant: Constant


@dataclass(frozen=True, slots=True)
class SearchIn:
    path: Path
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class IsMatch:
    """``search.ismatch(query, fields, query type, mode)``."""

    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    """``field/any(variable: body)``; ``body`` is None for ``field/any()``."""

    path: Path
    quantifier: Literal["any", "all"]
    variable: str
    body: Expression | None


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class Junction:
    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]


Expression = Path | Comparison | SearchIn | IsMatch | Lambda | Not | Junction

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<date>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))
      | (?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w-]))
      | (?P<string>'(?:[^']|'')*')
      | (?P<name>[A-Za-z_]\w*(?:\.\w+)?)
      | (?P<sign>[(),/:])
    )""",
    re.VERBOSE,
)
_COMPARATORS: dict[str, Comparator] = {
    "eq": "eq", "ne": "ne", "gt": "gt", "ge": "ge", "lt": "lt", "le": "le",
}  # fmt: skip
_FLIPPED: dict[Comparator, Comparator] = {
    "eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge",
}  # fmt: skip
_WORDS: dict[str, Constant] = {
    "true": Constant("boolean", value=True),
    "false": Constant("boolean", value=False),
    "null": Constant("null", None),
}
_DEEPEST = 100
DEFAULT_DELIMITERS = " ,"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str) -> Expression:
    """Return the tree of a filter; raise Refused as the service does for one it can't read."""
    reader = _Reader(_tokens(text))
    tree = reader.disjunction()
    reader.end()
    return tree


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise bad_filter(f"Syntax error at position {at} in {text!r}.")
        found.append(_Token(match.lastgroup, match[match.lastgroup], at))
        at = match.end()
    return [*found, _Token("end", "", end)]


class _Reader:
    """Recursive descent; ``not`` binds tighter than a comparison, as OData says."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def disjunction(self) -> Expression:
        return self._joined("or")

    def end(self) -> None:
        if self._next.kind != "end":
            raise self._wrong()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _joined(self, operator: Literal["and", "or"]) -> Expression:
        operands = [self._operand(operator)]
        while self._next.text == operator and self._next.kind == "name":
            self._at += 1
            operands.append(self._operand(operator))
        return operands[0] if len(operands) == 1 else Junction(operator, tuple(operands))

    def _operand(self, operator: Literal["and", "or"]) -> Expression:
        return self._joined("and") if operator == "or" else self._comparison()

    def _comparison(self) -> Expression:
        left = self._unary()
        if self._next.text not in _COMPARATORS:
            if isinstance(left, Constant):
                raise self._wrong()
            return left
        comparator = _COMPARATORS[self._take("name").text]
        return self._compared(left, comparator, self._unary())

    def _compared(
        self, left: Expression | Constant, comparator: Comparator, right: Expression | Constant
    ) -> Expression:
        if isinstance(left, Path) and isinstance(right, Constant):
            return Comparison(left, comparator, right)
        if isinstance(left, Constant) and isinstance(right, Path):
            return Comparison(right, _FLIPPED[comparator], left)
        raise bad_filter("Comparisons are only allowed between a field and a constant.")

    def _unary(self) -> Expression | Constant:
        token = self._next
        if token.kind == "name" and token.text == "not":
            self._at += 1
            operand = self._unary()
            if isinstance(operand, Constant):
                raise self._wrong()
            return Not(operand)
        return self._primary()

    def _primary(self) -> Expression | Constant:
        token = self._next
        if token.text == "(":
            return self._parenthesised()
        if token.kind in {"string", "number", "date"} or token.text in _WORDS:
            return self._constant()
        if token.text.startswith("search."):
            return self._function()
        return self._path()

    def _parenthesised(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise bad_filter("The expression is nested too deeply.")
        self._sign("(")
        inside = self.disjunction()
        self._sign(")")
        self._depth -= 1
        return inside

    def _constant(self) -> Constant:
        token = self._next
        self._at += 1
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.kind == "string":
            return Constant("string", token.text[1:-1].replace("''", "'"))
        if token.kind == "number":
            return Constant("number", float(token.text))
        try:
            return Constant("date", parse_date(token.text).timestamp())
        except ValueError:
            raise bad_filter(f"{token.text!r} is no date.") from None

    def _function(self) -> Expression:
        name = self._take("name").text
        self._sign("(")
        if name in {"search.ismatch", "search.ismatchscoring"}:
            return IsMatch(tuple(self._strings_until_closed()))
        if name != "search.in":
            raise bad_filter(f"Function {name!r} is not known or not supported in filters.")
        path = Path(self._take("name").text)
        self._sign(",")
        return SearchIn(path, self._values())

    def _values(self) -> frozenset[str]:
        values, *more = self._strings_until_closed()
        if len(more) > 1:
            raise bad_filter("search.in takes two or three parameters.")
        delimiters = more[0] if more else DEFAULT_DELIMITERS
        if not delimiters:
            return frozenset({values})
        return frozenset(re.split(f"[{re.escape(delimiters)}]", values)) - {""}

    def _strings_until_closed(self) -> list[str]:
        found = [self._string()]
        while self._next.text == ",":
            self._at += 1
            found.append(self._string())
        self._sign(")")
        return found

    def _string(self) -> str:
        constant = self._constant() if self._next.kind == "string" else None
        if constant is None:
            raise self._wrong()
        return str(constant.value)

    def _path(self) -> Expression:
        path = Path(self._take("name").text)
        if self._next.text != "/":
            return path
        self._sign("/")
        quantifier = self._take("name").text
        if quantifier not in {"any", "all"}:
            raise bad_filter(f"{path.name}/{quantifier} is no field of this index.")
        self._sign("(")
        return self._lambda(path, "any" if quantifier == "any" else "all")

    def _lambda(self, path: Path, quantifier: Literal["any", "all"]) -> Lambda:
        if self._next.text == ")" and quantifier == "any":
            self._sign(")")
            return Lambda(path, quantifier, "", None)
        variable = self._take("name").text
        self._sign(":")
        body = self.disjunction()
        self._sign(")")
        return Lambda(path, quantifier, variable, body)

    def _take(self, kind: str) -> _Token:
        token = self._next
        if token.kind != kind:
            raise self._wrong()
        self._at += 1
        return token

    def _sign(self, sign: str) -> None:
        if self._take("sign").text != sign:
            self._at -= 1
            raise self._wrong()

    def _wrong(self) -> Exception:
        token = self._next
        found = repr(token.text) if token.text else "the end"
        return bad_filter(f"Syntax error: {found} at position {token.at} was not expected.")
