"""Conditions in the service's filter language (OData), built so that no value is read as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_DELIMITER = "|"


def text(value: str) -> str:
    """Return a string literal."""
    return "'" + value.replace("'", "''") + "'"


def equals(field: str, value: str) -> str:
    """Return a condition for one value."""
    return f"{field} eq {text(value)}"


def one_of(field: str, values: Collection[str]) -> str:
    """Return a condition for any of the values; of none of them nothing is found."""
    if not values:
        return "false"
    listed = sorted(value for value in values if _lists(value))
    odd = [equals(field, value) for value in sorted(values) if not _lists(value)]
    if listed:
        names = text(_DELIMITER.join(listed))
        odd.append(f"search.in({field}, {names}, '{_DELIMITER}')")
    return f"({' or '.join(odd)})" if len(odd) > 1 else odd[0]


def none_of(field: str, values: Collection[str]) -> str:
    """Return a condition for all but these values."""
    return f"not ({one_of(field, values)})"


def both(*conditions: str | None) -> str:
    """Return a condition that all of these make; None is no condition."""
    return " and ".join(_grouped(conditions))


def _grouped(conditions: Iterable[str | None]) -> Iterable[str]:
    return (f"({one})" if " or " in one else one for one in conditions if one)


def _lists(value: str) -> bool:
    """Whether a value survives in a list: it may not hold the delimiter, nor begin with blanks."""
    return bool(value) and _DELIMITER not in value and value == value.strip()
