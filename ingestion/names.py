"""What spaces and uploaded documents may be called; pure."""

from __future__ import annotations

import re
import unicodedata

from ingestion.errors import DocumentRefused
from ingestion.text import clean

LONGEST_NAME = 200
"""Characters."""

_MOST_BYTES = 240
"""File systems take 255, and the ending of what is kept beside the document needs some."""

_SPACE = re.compile(r"[A-Za-z0-9~][A-Za-z0-9._~-]{0,99}")
_SHOWN = 60


def is_space_key(text: str) -> bool:
    """Tell whether a space may be called so."""
    return _SPACE.fullmatch(text) is not None


def space_key(text: str) -> str:
    """Return the name of a space. Raises DocumentRefused."""
    if not is_space_key(text):
        raise DocumentRefused(
            f"{shortened(text)} is no name of a space. Use letters, digits, '.', '_', '-' or '~', "
            "at most 100, not beginning with '.', '_' or '-'."
        )
    return text


def document_name(given: str) -> str:
    """Return the name of a document in one spelling (NFC). Raises DocumentRefused."""
    name = unicodedata.normalize("NFC", given).strip()
    trouble = _trouble(name)
    if trouble:
        raise DocumentRefused(f"The name {shortened(given)} {trouble}")
    return name


def shortened(text: str) -> str:
    """Return a text as a message quotes it: printable, and not too long."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ascii(shown) if not shown.isprintable() else repr(shown)


def _trouble(name: str) -> str:
    """Return what is wrong with a name, or ""; the first that is found."""
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
