"""Validate and parse user input: space keys, document names, readers. Pure.

Malformed readers mean that nobody may read.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata

from ingestion.errors import DocumentRefused
from ingestion.text import clean
from rag.types import EVERYONE, Principal, Readers

NOBODY: Readers = ()

_PRINCIPAL = re.compile(r"(?:user|group):[^\s,\[\]{}\"']+")
_CURE = "write everyone, group:NAME, user:ID, or a list of them"


class ReadersMalformed(ValueError):
    """The readers are malformed; the message explains the syntax."""


def parse_readers(value: object) -> Readers:
    """Parse the readers in a value of the front matter or the command line.

    A string or a list of strings is one set, of which the reader must match one. A list of lists is
    several sets, all of which must be met. An empty list is nobody.

    Raises:
        ReadersMalformed: anything else.
    """
    if isinstance(value, str):
        return (_reader_set(value.split(",")),)
    if not isinstance(value, list):
        raise ReadersMalformed(f"readers {reprlib.repr(value)} cannot be understood; {_CURE}")
    if not value:
        return NOBODY
    if all(isinstance(item, str) for item in value):
        return (_reader_set(value),)
    if all(isinstance(item, list) for item in value):
        return tuple(_reader_set(item) for item in value)
    raise ReadersMalformed(f"readers {reprlib.repr(value)} mix names and lists; {_CURE}")


def describe_readers(readers: Readers) -> str:
    """Return readers in the syntax in which people write them."""
    return " and ".join(",".join(sorted(one)) for one in readers) or "nobody"


def lets_in_all(new: Readers, old: Readers) -> bool:
    """Return whether the new readers certainly include everybody whom the old ones include."""
    if not old:
        return True
    return bool(new) and all(
        EVERYONE in layer or any(old_layer <= layer for old_layer in old) for layer in new
    )


def _reader_set(names: list[object] | list[str]) -> frozenset[Principal]:
    if not names:
        raise ReadersMalformed(f"an inner list of readers is empty; {_CURE}")
    return frozenset(_principal(name) for name in names)


def _principal(name: object) -> Principal:
    text = name.strip() if isinstance(name, str) else None
    if text is None or not (text == EVERYONE or _PRINCIPAL.fullmatch(text)):
        raise ReadersMalformed(f"reader {reprlib.repr(name)} cannot be understood; {_CURE}")
    return Principal(text)


LONGEST_NAME = 200
"""Characters."""

_MOST_BYTES = 240
"""File systems allow 255, and the metadata file's suffix needs some."""

_SPACE = re.compile(r"[A-Za-z0-9~][A-Za-z0-9._~-]{0,99}")
_SHOWN = 60


def is_space_key(text: str) -> bool:
    """Return whether a text is a valid space key."""
    return _SPACE.fullmatch(text) is not None


def space_key(text: str) -> str:
    """Return a valid space key unchanged. Raises DocumentRefused."""
    if not is_space_key(text):
        raise DocumentRefused(
            f"{shortened(text)} is not a valid space name. Use up to 100 letters, digits, '.', "
            "'_', '-' or '~', and begin with a letter, a digit or '~'."
        )
    return text


def document_name(given: str) -> str:
    """Return a document name normalised to NFC. Raises DocumentRefused."""
    name = unicodedata.normalize("NFC", given).strip()
    trouble = _name_error(name)
    if trouble:
        raise DocumentRefused(f"The name {shortened(given)} {trouble}")
    return name


def shortened(text: str) -> str:
    """Return a text for quoting in a message: printable and shortened."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ascii(shown) if not shown.isprintable() else repr(shown)


def _name_error(name: str) -> str:
    """Return the first error in a name, or ""."""
    too_long = len(name) > LONGEST_NAME or len(name.encode(errors="replace")) > _MOST_BYTES
    troubles = {
        "is empty. Give the file a name.": not name,
        "has a path in it. Send the file's own name only.": "/" in name or "\\" in name,
        "begins with a dot, which hides a file. Rename it.": name.startswith("."),
        "ends with a dot. Rename it.": name.endswith("."),
        "has characters that can't be seen. Rename it.": not _visible(name),
        f"is too long. Use at most {LONGEST_NAME} characters ({_MOST_BYTES} bytes).": too_long,
    }
    return next((trouble for trouble, found in troubles.items() if found), "")


def _visible(name: str) -> bool:
    return name.isprintable() and clean(name) == name
