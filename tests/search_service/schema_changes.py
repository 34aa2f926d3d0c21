"""Which changes an index takes: new fields and little else."""

from __future__ import annotations

from tests.search_service.errors import Json, Refused
from tests.search_service.fields import Field
from tests.search_service.schema import Schema

_MAY_CHANGE = frozenset({"retrievable", "search_analyzer"})


def check_change(old: Schema, new: Schema) -> None:
    """Refuse what would need the index to be built anew."""
    for field in old.fields.values():
        changed = new.fields.get(field.name)
        if changed is None:
            raise _refused(f"Existing field {field.name!r} cannot be deleted.")
        if _fixed(field) != _fixed(changed):
            raise _refused(f"Existing field {field.name!r} cannot be changed.")
    for part in ("algorithms", "compressions"):
        _check_kept(part, old.definition, new.definition)
    if (old.k1, old.b) != (new.k1, new.b):
        raise _refused("The similarity of an index can't change without its downtime.")


def _fixed(field: Field) -> dict[str, object]:
    names = set(Field.__dataclass_fields__) - _MAY_CHANGE
    return {name: getattr(field, name) for name in names}


def _check_kept(part: str, old: Json, new: Json) -> None:
    kept = {each["name"]: each for each in (new.get("vectorSearch") or {}).get(part) or []}
    for each in (old.get("vectorSearch") or {}).get(part) or []:
        if kept.get(each["name"]) != each:
            raise _refused(f"{each['name']!r} of the vector search's {part} can't be changed.")


def _refused(what: str) -> Refused:
    return Refused(400, "OperationNotAllowed", f"{what} Build another index instead.")
