"""Filters, checked against an index as the service checks them, and evaluated on its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

import numpy as np

from tests.search_service import edm
from tests.search_service.columns import RANGES, Column, Mask
from tests.search_service.errors import bad_filter
from tests.search_service.fields import Field
from tests.search_service.odata_syntax import (
    Comparison,
    Constant,
    Expression,
    IsMatch,
    Junction,
    Lambda,
    Not,
    Path,
    SearchIn,
    parse,
)


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


_KINDS = {edm.STRING: "string", edm.DATE: "date", "Edm.Boolean": "boolean"}


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
    if type_name != edm.STRING:
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
    if type_name == edm.STRING:
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
