"""JSON schemas that servers accept in strict mode, and answers read back by them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from rag.models.dialect import WantedShape
from rag.ports import Shape

_NOT_IN_STRICT_MODE = frozenset(
    {"default", "title", "minLength", "maxLength", "format", "minItems", "maxItems", "uniqueItems"}
)
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_REPORTED_ERRORS = 5


def wanted_shape(shape: type[BaseModel]) -> WantedShape:
    """Return the shape's schema for strict mode: every property required, no others allowed.

    Limits that strict mode does not know are left out; pydantic checks them on what comes back.
    """
    schema = _strict(shape.model_json_schema())
    return WantedShape(shape.__name__, schema if isinstance(schema, dict) else {})


def read_shape(text: str, shape: type[Shape]) -> tuple[Shape | None, str]:
    """Return (value, "") or (None, what is wrong, without quoting the answer's values)."""
    match = _FENCED.match(text)
    try:
        return shape.model_validate_json(match[1] if match else text), ""
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False, include_context=False)
        problems = [
            f"{'.'.join(map(str, item['loc'])) or 'the answer'}: {item['msg']}"
            for item in details[:_REPORTED_ERRORS]
        ]
        return None, "; ".join(problems)


def _strict(node: object) -> object:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _strict_members(value) if key in {"properties", "$defs"} else _strict(value)
        for key, value in node.items()
        if key not in _NOT_IN_STRICT_MODE
    }
    if kept.get("type") == "object":
        properties = kept.get("properties")
        kept["required"] = list(properties) if isinstance(properties, dict) else []
        kept["additionalProperties"] = False
    return kept


def _strict_members(members: object) -> object:
    """Go through named parts, whose names may look like keywords (a property ``title``)."""
    if not isinstance(members, Mapping):
        return members
    return {name: _strict(member) for name, member in members.items()}
