"""Who may read a page, as written down; whatever cannot be understood means nobody. Pure."""

from __future__ import annotations

import re
import reprlib

from rag.types import EVERYONE, Principal, Readers

NOBODY: Readers = ()

_PRINCIPAL = re.compile(r"(?:user|group):[^\s,\[\]{}\"']+")
_CURE = "write everyone, group:NAME, user:ID, or a list of them"


class ReadersMalformed(ValueError):
    """The readers cannot be understood; the message says how to write them."""


def parse_readers(value: object) -> Readers:
    """Return the readers that a value of the front matter or the command line names.

    A string or a list of strings is one set, of which the asker must match one. A list of lists
    is several sets, all of which must be met. An empty list is nobody.

    Raises:
        ReadersMalformed: anything else.
    """
    if isinstance(value, str):
        return (_one_set(value.split(",")),)
    if not isinstance(value, list):
        raise ReadersMalformed(f"readers {reprlib.repr(value)} cannot be understood; {_CURE}")
    if not value:
        return NOBODY
    if all(isinstance(item, str) for item in value):
        return (_one_set(value),)
    if all(isinstance(item, list) for item in value):
        return tuple(_one_set(item) for item in value)
    raise ReadersMalformed(f"readers {reprlib.repr(value)} mix names and lists; {_CURE}")


def describe(readers: Readers) -> str:
    """Return readers as a person writes them."""
    return " and ".join(",".join(sorted(one)) for one in readers) or "nobody"


def lets_in_all(new: Readers, old: Readers) -> bool:
    """Whether surely everybody whom the old readers let in is let in by the new ones."""
    if not old:
        return True
    return bool(new) and all(
        EVERYONE in layer or any(old_layer <= layer for old_layer in old) for layer in new
    )


def _one_set(names: list[object] | list[str]) -> frozenset[Principal]:
    if not names:
        raise ReadersMalformed(f"an inner list of readers is empty; {_CURE}")
    return frozenset(_principal(name) for name in names)


def _principal(name: object) -> Principal:
    text = name.strip() if isinstance(name, str) else None
    if text is None or not (text == EVERYONE or _PRINCIPAL.fullmatch(text)):
        raise ReadersMalformed(f"reader {reprlib.repr(name)} cannot be understood; {_CURE}")
    return Principal(text)
