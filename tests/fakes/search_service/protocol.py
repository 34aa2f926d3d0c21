"""The service's data types, and what it answers when it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
"""A JSON object as it goes over the wire."""


class Refused(Exception):
    """A request is answered with an error; ``status`` is that of the reply."""

    def __init__(self, status: int, code: str, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.detail = detail
        self.headers: dict[str, str] = {}

    def body(self) -> Json:
        error: Json = {"code": self.code, "message": self.message}
        if self.detail is not None:
            error["details"] = [{"code": self.detail, "message": self.message}]
        return {"error": error}


def bad_parameter(message: str, *, detail: str | None = None) -> Refused:
    """Return the refusal of a request that is understood but wrong."""
    return Refused(400, "InvalidRequestParameter", message, detail=detail)


def bad_filter(message: str) -> Refused:
    return bad_parameter(f"Invalid expression: {message}", detail="InvalidFilter")


def bad_definition(message: str) -> Refused:
    """Return the refusal of an index that can't be as it is described."""
    return Refused(
        400, "InvalidRequestParameter", f"The request is invalid. Details: definition : {message}"
    )


def bad_document(number: int, message: str) -> Refused:
    """Return the refusal of a whole batch for one of its actions, counted from 0."""
    return Refused(400, "", f"The request is invalid. Details: actions : {number}: {message}")


def not_found(what: str, name: str) -> Refused:
    return Refused(404, "ResourceNotFound", f"No {what} with the name {name!r} was found.")


def not_simulated(what: str) -> Refused:
    """Return what only this double says: nobody shall take its silence for the service's."""
    return Refused(501, "NotSimulated", f"{what}: the search service of the tests can't do this")


VECTOR = "Collection(Edm.Single)"
STRINGS = "Collection(Edm.String)"
STRING = "Edm.String"
DATE = "Edm.DateTimeOffset"
NUMBERS = frozenset({"Edm.Int32", "Edm.Int64", "Edm.Double"})
SINGLES = NUMBERS | {STRING, DATE, "Edm.Boolean"}
TYPES = SINGLES | {f"Collection({name})" for name in SINGLES} | {VECTOR}
_BITS = {"Edm.Int32": 31, "Edm.Int64": 63}


class Unfit(Exception):
    """A value is not of the type that its field has."""


def element(type_name: str) -> str:
    """Return the type of a collection's elements, or the type itself."""
    return type_name.removeprefix("Collection(").removesuffix(")")


def is_collection(type_name: str) -> bool:
    return type_name.startswith("Collection(")


def parse_date(text: str) -> datetime:
    """Return a moment; raise ValueError for one without its offset."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)


def shown_date(moment: datetime) -> str:
    """Return a moment as the service writes it: UTC, with milliseconds where it has some."""
    spec = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def _string(value: object) -> object:
    if not isinstance(value, str):
        raise Unfit(value)
    return value


def _boolean(value: object) -> object:
    if not isinstance(value, bool):
        raise Unfit(value)
    return value


def _whole(type_name: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit(value)
    if not -(2 ** _BITS[type_name]) <= value < 2 ** _BITS[type_name]:
        raise Unfit(value)
    return value


def _double(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unfit(value)
    return float(value)


def _date(value: object) -> object:
    try:
        return shown_date(parse_date(str(_string(value))))
    except ValueError as error:
        raise Unfit(value) from error


_READERS: dict[str, Callable[[object], object]] = {
    STRING: _string,
    "Edm.Boolean": _boolean,
    "Edm.Int32": lambda value: _whole("Edm.Int32", value),
    "Edm.Int64": lambda value: _whole("Edm.Int64", value),
    "Edm.Double": _double,
    "Edm.Single": _double,
    DATE: _date,
}


def kept(type_name: str, value: object) -> object:
    """Return a document's value as it is kept; raise Unfit for one of another type.

    A missing collection is kept as an empty one, but for vectors.
    """
    if not is_collection(type_name):
        return None if value is None else _READERS[type_name](value)
    if value is None:
        return None if type_name == VECTOR else []
    if not isinstance(value, list):
        raise Unfit(value)
    read = _READERS[element(type_name)]
    return [read(each) for each in value]
