"""What is shown of an answer that Teams does not take as it is: pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.adapters.teams.showing.cutting import cut
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_label
from bot.domain.outcomes import undelivered_text
from bot.domain.types import Delivery

_SHORT = 6_000
"""Bytes (showing.sizes) of what is left of a text that was too long."""

_SHORTENED = "_Teams did not take all of it: this is the beginning._"
MAY_BE_TWICE = "_Teams did not say whether it took this before, so it may stand here twice._"


_Object = Mapping[str, Any]
"""An object of JSON that this bot wrote."""


def plainest(activity: _Object, *, shorten: bool = False) -> Json | None:
    """Return the words of a message and its links, and nothing else; None for buttons alone.

    ``shorten``: only the beginning, for it was too long.
    """
    words = str(activity.get("text") or "") or "\n\n".join(_on_cards(activity))
    links = "\n".join(_links(activity))
    if shorten and (parts := cut(words, _SHORT))[1:]:
        words = f"{parts[0]}\n\n{_SHORTENED}"
    text = "\n\n".join(part for part in (words, links) if part.strip())
    return _said(text) if text else None


def not_taken(delivery: Delivery) -> Json:
    """Return the line that stands for an answer which Teams takes in no form."""
    return _said(undelivered_text(delivery.message, delivery.outcome, "Teams"))


def repeated(activity: _Object) -> Json:
    """Return a message that may be there already, which says so below its words."""
    return {**activity, "text": f"{activity['text']}\n\n{MAY_BE_TWICE}"}


def shape(activity: object) -> str:
    """Return the keys of an activity, for the log: not a word of what it says."""
    return json.dumps(_keys(activity), separators=(",", ":"))


def _said(text: str) -> Json:
    return {"type": "message", "text": text, "textFormat": "markdown"}


def _links(activity: _Object) -> Iterator[str]:
    """Yield the pages that stand behind the marks of a text."""
    for entity in _of(activity, "entities"):
        for claim in _of(entity, "citation"):
            appearance = claim["appearance"]
            name = teams_label(appearance["name"])
            page = f"[{name}]({appearance['url']})" if "url" in appearance else name
            yield f"- \\[{claim['position']}\\] {page}"


def _on_cards(activity: _Object) -> Iterator[str]:
    for attached in _of(activity, "attachments"):
        for element in _of(attached["content"], "body"):
            yield _words(element)


def _words(element: _Object) -> str:
    """Return what an element of an answer's card says: a paragraph, a table, or code."""
    match element["type"]:
        case "Table":
            return "  \n".join(_row(row) for row in _of(element, "rows"))
        case "CodeBlock":
            # The snippet may hold a fence of its own; what clients without code show is inert.
            return _words(element["fallback"])
        case _:
            return str(element.get("text") or "")


def _row(row: _Object) -> str:
    cells = ([_words(item) for item in _of(cell, "items")] for cell in _of(row, "cells"))
    return " \u00b7 ".join(" ".join(cell) for cell in cells)


def _of(thing: _Object, key: str) -> Sequence[_Object]:
    return thing.get(key) or ()


def _keys(thing: object) -> object:
    if isinstance(thing, dict):
        return {str(key): _keys(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_keys(value) for value in thing[:1]]
    return type(thing).__name__
