"""Batches of documents: what is refused as a whole, and what each action comes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.search_service import edm
from tests.search_service.errors import Json, bad_document, bad_parameter
from tests.search_service.fields import Field
from tests.search_service.schema import Schema

MOST_ACTIONS = 1000
_KEY = re.compile(r"(?!_)[A-Za-z0-9_\-=]{1,1024}")
_LONGEST_TERM = 32766
_ACTION = "@search.action"


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a batch; ``values`` are checked, and hold only what was said."""

    kind: str
    key: str
    values: Json


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one action."""

    key: str
    status: int
    error: str | None = None

    def shown(self) -> Json:
        good = self.error is None
        return {
            "key": self.key,
            "status": good,
            "errorMessage": self.error,
            "statusCode": self.status,
        }


Troubles = Callable[[str], Result | None]
"""Says for a key whether its action fails, and how."""


def read_batch(body: Json, schema: Schema) -> list[Action]:
    """Return a batch's actions; raise Refused where the whole batch is refused."""
    given = body.get("value")
    if not isinstance(given, list) or not given:
        raise bad_parameter("The request is invalid. Details: actions : No indexing actions found.")
    if len(given) > MOST_ACTIONS:
        raise bad_parameter(
            f"The request is invalid. Details: actions : {len(given)} indexing actions; the "
            f"maximum is {MOST_ACTIONS}."
        )
    return [_read(number, each, schema) for number, each in enumerate(given)]


def _read(number: int, given: Json, schema: Schema) -> Action:
    kind = given.get(_ACTION, "upload")
    if kind not in _APPLY:
        raise bad_document(number, f"{kind!r} is no indexing action.")
    values = {
        name: _value(number, schema.fields.get(name), name, value)
        for name, value in given.items()
        if name != _ACTION
    }
    return Action(kind, _key(number, given.get(schema.key)), values)


def _key(number: int, key: object) -> str:
    if key is None or key == "":
        raise bad_document(number, "Document key cannot be missing or empty.")
    if not _KEY.fullmatch(str(key)):
        raise bad_document(
            number,
            f"Invalid document key: {key!r}. Keys can only contain letters, digits, underscore "
            "(_), dash (-), or equal sign (=), and don't begin with an underscore.",
        )
    return str(key)


def _value(number: int, field: Field | None, name: str, value: object) -> object:
    if field is None:
        raise bad_document(
            number, f"The property {name!r} does not exist on type 'search.documentFields'."
        )
    try:
        kept = edm.kept(field.type, value)
    except edm.Unfit:
        raise bad_document(
            number, f"Cannot convert a value to {field.type} for {name!r}."
        ) from None
    if field.is_vector and isinstance(kept, list) and len(kept) != field.dimensions:
        raise bad_document(
            number,
            f"The vector field {name!r}, with dimension of '{field.dimensions}', expects a length "
            f"of '{field.dimensions}'. However, the provided vector has a length of '{len(kept)}'.",
        )
    return kept


def apply_batch(
    actions: list[Action], written: dict[str, Json], schema: Schema, troubles: Troubles
) -> list[Result]:
    """Change what is written, action by action; return what became of each."""
    return [_applied(action, written, schema, troubles) for action in actions]


def _applied(
    action: Action, written: dict[str, Json], schema: Schema, troubles: Troubles
) -> Result:
    trouble = troubles(action.key) or _too_long(action, schema)
    return trouble or _APPLY[action.kind](action, written, schema)


def _too_long(action: Action, schema: Schema) -> Result | None:
    """A text to filter, order or count by is one term, and a term has its limit."""
    for name, value in action.values.items():
        field = schema.fields[name]
        if field.has_column and any(
            isinstance(v, str) and len(v.encode()) > _LONGEST_TERM
            for v in (value if isinstance(value, list) else [value])
        ):
            said = f"Field {name!r} contains a term that is too large to process."
            return Result(action.key, 400, said)
    return None


def _upload(action: Action, written: dict[str, Json], schema: Schema) -> Result:
    new = action.key not in written
    blank = {f.name: edm.kept(f.type, None) for f in schema.fields.values()}
    written[action.key] = {**blank, **action.values}
    return Result(action.key, 201 if new else 200)


def _merge(action: Action, written: dict[str, Json], _: Schema) -> Result:
    if action.key not in written:
        return Result(action.key, 404, "Document not found.")
    written[action.key] = {**written[action.key], **action.values}
    return Result(action.key, 200)


def _merge_or_upload(action: Action, written: dict[str, Json], schema: Schema) -> Result:
    apply = _merge if action.key in written else _upload
    return apply(action, written, schema)


def _delete(action: Action, written: dict[str, Json], _: Schema) -> Result:
    written.pop(action.key, None)
    return Result(action.key, 200)


_APPLY: Mapping[str, Callable[[Action, dict[str, Json], Schema], Result]] = {
    "upload": _upload,
    "merge": _merge,
    "mergeOrUpload": _merge_or_upload,
    "delete": _delete,
}
