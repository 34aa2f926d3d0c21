"""Turns a statement round by a denial more or less, as a careless model or a hostile page does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.answer.claim_support import has_negation

_AUXILIARY = r"is|are|must|can|may|will|should"
_PUT_IN = re.compile(rf"\b({_AUXILIARY})\b")
_TAKEN_OUT = re.compile(rf"\b({_AUXILIARY}|do|does)(?: not\b|n['\u2019]t\b)|\b(can)not\b")


def turned(text: str) -> Iterator[tuple[str, str]]:
    """Yield how, and the text turned round: a "not" put in, or the only one taken out."""
    if not has_negation(text):
        denied, count = _PUT_IN.subn(r"\1 not", text, count=1)
        if count:
            yield "not put in", denied
        return
    stated = _TAKEN_OUT.sub(lambda found: found[1] or found[2], text, count=1)
    if stated != text and not has_negation(stated):
        yield "not taken out", stated
