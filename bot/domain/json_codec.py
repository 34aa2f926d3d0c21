"""Encode frozen values as JSON text with a format number, and decode them exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from numbers import Real
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from bot.domain.errors import RecordUnreadable

FORMAT = 1
"""Increased when a stored type changes in a way that the present types can't read."""

Value = TypeVar("Value")


class Codec(Generic[Value]):
    """Encode a value as ``{"format": 1, "value": …}`` and decode it.

    Lone surrogates, which no database accepts, become U+FFFD; everything else is preserved.
    """

    def __init__(self, shape: type[Value]) -> None:
        self._shape = shape
        self._adapter: TypeAdapter[Value] = _adapter_of(shape)  # type: ignore[arg-type]  # types have a hash

    def encode(self, value: Value) -> str:
        plain = self._adapter.dump_python(value, mode="json", fallback=_plain, warnings="none")
        return without_surrogates(
            json.dumps({"format": FORMAT, "value": plain}, ensure_ascii=False)
        )

    def decode(self, text: str) -> Value:
        """Read a stored value. Raises RecordUnreadable for a format that is not known here."""
        try:
            return self._decoded(text)
        except (ValueError, KeyError, TypeError):
            # Not chained: the cause quotes what people wrote, and it would get into the log.
            raise RecordUnreadable(
                f"A stored {self._shape.__name__} can't be read. Another version wrote it, or it "
                "was changed by hand; put back a copy of the record, or delete that row."
            ) from None

    def _decoded(self, text: str) -> Value:
        stored = json.loads(text)
        if stored["format"] != FORMAT:
            raise RecordUnreadable(
                f"A stored {self._shape.__name__} has format {stored['format']!r}, this version "
                f"reads {FORMAT!r}. Start the version of Frontdesk that wrote it, or a newer one."
            )
        return self._adapter.validate_python(stored["value"])


@cache
def _adapter_of(shape: type) -> TypeAdapter[Any]:
    """Return the adapter of a type; making one takes longer than opening a database."""
    return TypeAdapter(shape)


def _plain(value: object) -> object:
    """Convert a library's own mapping or number to a plain one."""
    if isinstance(value, Mapping):
        return {key: _number(held) for key, held in value.items()}
    if isinstance(value, Real):
        return _number(float(value))
    raise TypeError(
        f"{type(value).__name__} can't be kept; use a type of bot.domain.messages or rag.types."
    )


def _number(value: object) -> object:
    """Convert NaN and infinity to text: pydantic would encode them as null without a type."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which can't be encoded, by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable(text: str) -> str:
    """Return text that any database column accepts: no lone surrogates and no NUL."""
    return without_surrogates(text).replace("\x00", "\N{REPLACEMENT CHARACTER}")
