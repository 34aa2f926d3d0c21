"""OData filters: read strictly, checked against an index, and evaluated on its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

import numpy as np

from tests.fakes.search_service import protocol
from tests.fakes.search_service.protocol import bad_filter, parse_date
from tests.fakes.search_service.schema import Field
from tests.fakes.search_service.text_index import RANGES, Column, Mask

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


class Filterable(Protocol):
    """What a filter is evaluated on."""

    @property
    def fields(self) -> Mapping[str, Field]: ...

    @property
    def columns(self) -> Mapping[str, Column]: ...

    @property
    def rows(self) -> int: ...


Matching = Callable[[tuple[str, ...]], Mask]
"""What answers ``search.ismatch`` with these arguments."""


def evaluate(text: str, on: Filterable, matching: Matching) -> Mask:
    """Return the rows that a filter lets through; raise Refused for a filter that is none."""
    return _Evaluation(on, matching).of(parse(text))


def compares_texts(text: str) -> bool:
    """Say whether a filter asks for a range of texts."""
    ranges = (leaf for leaf in _leaves(parse(text)) if isinstance(leaf, Comparison))
    return any(
        leaf.comparator not in {"eq", "ne"} and leaf.constant.kind == "string" for leaf in ranges
    )


@dataclass(frozen=True, slots=True)
class _Evaluation:
    on: Filterable
    matching: Matching

    def of(self, tree: Expression) -> Mask:
        match tree:
            case Junction():
                masks = [self.of(operand) for operand in tree.operands]
                join = np.logical_and if tree.operator == "and" else np.logical_or
                return np.asarray(join.reduce(masks), dtype=np.bool_)
            case Not():
                return ~self.of(tree.operand)
            case Lambda():
                return self._lambda(tree)
            case IsMatch():
                return self.matching(tree.arguments)
            case _:
                return self._single(tree)

    def _single(self, tree: Path | Comparison | SearchIn) -> Mask:
        path = tree if isinstance(tree, Path) else tree.path
        field = self._field(path.name)
        if field.is_collection:
            raise bad_filter(
                f"{field.name!r} is a collection: it can only be used with 'any' or 'all'."
            )
        return _leaf(tree, field.type, self.on.columns[field.name])

    def _field(self, name: str) -> Field:
        field = self.on.fields.get(name)
        if field is None:
            raise bad_filter(f"Could not find a property named {name!r} on type 'search.document'.")
        if not field.filterable:
            raise bad_filter(
                f"{name!r} is not a filterable field. Only filterable fields can be used in "
                "filter expressions."
            )
        return field

    def _lambda(self, tree: Lambda) -> Mask:
        field = self._field(tree.path.name)
        if not field.is_collection:
            raise bad_filter(f"{field.name!r} is no collection; {tree.quantifier} needs one.")
        column = self.on.columns[field.name]
        if tree.body is None:
            return column.any_value()
        _check_body(tree, tree.body, field.element)
        if tree.quantifier == "any":
            return _any(tree.body, field.element, column)
        return ~_any(Not(tree.body), field.element, column)


def _any(body: Expression, type_name: str, column: Column) -> Mask:
    """Return the rows with an element of which ``body`` holds: asked of each value once."""
    return column.where(lambda value: _holds(body, type_name, value))


def _holds(tree: Expression, type_name: str, value: object) -> bool:
    match tree:
        case Junction():
            held = (_holds(operand, type_name, value) for operand in tree.operands)
            return all(held) if tree.operator == "and" else any(held)
        case Not():
            return not _holds(tree.operand, type_name, value)
        case SearchIn():
            return value in tree.values
        case Comparison():
            _check_types(tree, type_name)
            return _compares(tree, value)
        case Path():
            return value is True
        case Lambda() | IsMatch():
            raise bad_filter("This is not allowed within 'any' or 'all'.")
        case _ as never:
            assert_never(never)


def _compares(tree: Comparison, value: object) -> bool:
    if tree.comparator in {"eq", "ne"}:
        return (value == tree.constant.value) == (tree.comparator == "eq")
    return RANGES[tree.comparator](value, tree.constant.value)


def _leaf(tree: Path | Comparison | SearchIn, type_name: str, column: Column) -> Mask:
    """Return the rows of a single-valued field; null is unequal to all and in no range."""
    match tree:
        case SearchIn():
            _check_string(tree, type_name)
            return column.among(tree.values)
        case Path():
            if type_name != "Edm.Boolean":
                raise bad_filter(f"{tree.name!r} is {type_name}, where Edm.Boolean is needed.")
            return column.among({True})
        case Comparison():
            _check_types(tree, type_name)
            return _compared(tree, column)
        case _ as never:
            assert_never(never)


def _compared(tree: Comparison, column: Column) -> Mask:
    if tree.comparator == "eq":
        return column.among({tree.constant.value})
    if tree.comparator == "ne":
        return ~column.among({tree.constant.value})
    return column.where(lambda value: _compares(tree, value))


_KINDS = {protocol.STRING: "string", protocol.DATE: "date", "Edm.Boolean": "boolean"}


def _check_types(tree: Comparison, type_name: str) -> None:
    constant = tree.constant
    if constant.kind == "null" and tree.comparator in {"eq", "ne"}:
        return
    if constant.kind != _KINDS.get(type_name, "number"):
        raise bad_filter(
            "A binary operator with incompatible types was detected: "
            f"{tree.path.name} is {type_name}, compared with a {constant.kind}."
        )
    if constant.kind == "boolean" and tree.comparator not in {"eq", "ne"}:
        raise bad_filter(f"{tree.comparator!r} is not allowed on Edm.Boolean.")


def _check_string(tree: SearchIn, type_name: str) -> None:
    if type_name != protocol.STRING:
        raise bad_filter(f"search.in needs a string; {tree.path.name!r} is {type_name}.")


def _check_body(tree: Lambda, body: Expression, type_name: str) -> None:
    """Refuse what the service refuses within any and all; for strings it takes very little."""
    for leaf in _leaves(body):
        _check_variable(leaf, tree.variable)
        if isinstance(leaf, SearchIn):
            _check_string(leaf, type_name)
        if isinstance(leaf, Comparison):
            _check_types(leaf, type_name)
            _check_not_null(leaf.constant)
        if isinstance(leaf, Path) and type_name != "Edm.Boolean":
            raise bad_filter(f"{leaf.name!r} is {type_name}, where Edm.Boolean is needed.")
    if type_name == protocol.STRING:
        _check_strings(body, tree.quantifier)


def _check_not_null(constant: Constant) -> None:
    if constant.kind == "null":
        raise bad_filter("A collection of single values holds no null to compare with.")


def _check_variable(leaf: Expression, variable: str) -> None:
    if not isinstance(leaf, Path | Comparison | SearchIn):
        raise bad_filter("Only the range variable may be used within 'any' or 'all'.")
    name = leaf.name if isinstance(leaf, Path) else leaf.path.name
    if name != variable:
        raise bad_filter(f"{name!r} is not the range variable {variable!r}.")


def _check_strings(body: Expression, quantifier: Literal["any", "all"]) -> None:
    joined = "or" if quantifier == "any" else "and"
    if isinstance(body, Junction):
        if body.operator != joined:
            raise _not_within(quantifier, f"'{body.operator}'")
        for operand in body.operands:
            _check_strings(operand, quantifier)
        return
    if not (_is_positive(body) if quantifier == "any" else _is_negative(body)):
        raise _not_within(quantifier, "this comparison")


def _is_positive(leaf: Expression) -> bool:
    if isinstance(leaf, Comparison):
        return leaf.comparator == "eq"
    if isinstance(leaf, Not):
        return isinstance(leaf.operand, Comparison) and leaf.operand.comparator == "ne"
    return isinstance(leaf, SearchIn)


def _is_negative(leaf: Expression) -> bool:
    if isinstance(leaf, Not):
        return _is_positive(leaf.operand)
    return isinstance(leaf, Comparison) and leaf.comparator == "ne"


def _not_within(quantifier: str, what: str) -> Exception:
    allowed = (
        "'eq' and search.in joined by 'or'"
        if quantifier == "any"
        else ("'ne' and not search.in joined by 'and'")
    )
    return bad_filter(
        f"Invalid lambda expression: {what} is not supported in '{quantifier}' on a collection of "
        f"strings; only {allowed}."
    )


def _leaves(tree: Expression) -> list[Expression]:
    if isinstance(tree, Junction):
        return [leaf for operand in tree.operands for leaf in _leaves(operand)]
    if isinstance(tree, Not):
        return _leaves(tree.operand)
    return [tree]
