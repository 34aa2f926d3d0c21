"""Build plain messages: replies to commands, and the plain form of a rejected answer; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.domain.interactions import Delivery
from bot.domain.outcomes import undelivered_text
from bot.domain.text.markdown import split
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.cards import text_block
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    card_plain,
    size,
    split_markdown,
    teams_label,
    teams_plain,
)

_BULLET = "- "


def text_messages(text: str, *live: str) -> tuple[Json, ...]:
    """Return lines of plain text as messages, in order, each within Teams' size limit.

    ``live`` is Markdown built by our code, appended at the end.
    """
    parts = split("\n\n".join([_lines_as_markdown(text), *live]), CONTENT_BUDGET, size)
    return tuple({"type": "message", "text": part, "textFormat": "markdown"} for part in parts)


def text_paragraphs(text: str) -> Sequence[Json]:
    """Return lines of plain text as elements of a card."""
    return [
        text_block(card_plain(line), spacing="Default" if number == 0 else "Small")
        for number, line in enumerate(filter(str.strip, text.split("\n")))
    ]


def _lines_as_markdown(text: str) -> str:
    """Return lines as separate paragraphs, as Markdown joins consecutive ones."""
    shown = ""
    for line in filter(str.strip, text.split("\n")):
        listed = line.startswith(_BULLET)
        words = teams_plain(line.removeprefix(_BULLET) if listed else line)
        after_item = listed and shown.rpartition("\n")[2].startswith(_BULLET)
        joint = "" if not shown else "\n" if after_item else "\n\n"
        shown += joint + (f"{_BULLET}{words}" if listed else words)
    return shown


_SHORT_BYTES = 6_000
"""Bytes (`rendering.text.size`) to which an oversized text is shortened."""

_SHORTENED_NOTE = "_Teams did not take all of it: this is the beginning._"
MAY_BE_TWICE = "_Teams did not say whether it took this before, so it may stand here twice._"


_Object = Mapping[str, Any]
"""A JSON object that this bot built."""


def plain_form(activity: _Object, *, shorten: bool = False) -> Json | None:
    """Return a message with only the text and links; None if it has only buttons.

    ``shorten``: keep only the beginning, as the message was too long.
    """
    words = str(activity.get("text") or "") or "\n\n".join(_words_on_cards(activity))
    links = "\n".join(_links(activity))
    if shorten and (parts := split_markdown(words, _SHORT_BYTES))[1:]:
        words = f"{parts[0]}\n\n{_SHORTENED_NOTE}"
    text = "\n\n".join(part for part in (words, links) if part.strip())
    return _markdown_message(text) if text else None


def refused_notice(delivery: Delivery) -> Json:
    """Return the line that replaces an answer which Teams rejects in every form."""
    return _markdown_message(undelivered_text(delivery.message, delivery.outcome, "Teams"))


def marked_as_repeated(activity: _Object) -> Json:
    """Return a message with a remark below its text that it may be a duplicate."""
    return {**activity, "text": f"{activity['text']}\n\n{MAY_BE_TWICE}"}


def keys_of(activity: object) -> str:
    """Return the key structure of an activity for the log, without any content."""
    return json.dumps(_key_tree(activity), separators=(",", ":"))


def _markdown_message(text: str) -> Json:
    return {"type": "message", "text": text, "textFormat": "markdown"}


def _links(activity: _Object) -> Iterator[str]:
    """Yield links to the pages behind the citation marks of a text."""
    for entity in _objects_at(activity, "entities"):
        for claim in _objects_at(entity, "citation"):
            appearance = claim["appearance"]
            name = teams_label(appearance["name"])
            page = f"[{name}]({appearance['url']})" if "url" in appearance else name
            yield f"- \\[{claim['position']}\\] {page}"


def _words_on_cards(activity: _Object) -> Iterator[str]:
    for attached in _objects_at(activity, "attachments"):
        for element in _objects_at(attached["content"], "body"):
            yield _element_words(element)


def _element_words(element: _Object) -> str:
    """Return the text of a card element of an answer: a paragraph, a table, or code."""
    match element["type"]:
        case "Table":
            return "  \n".join(_row(row) for row in _objects_at(element, "rows"))
        case "CodeBlock":
            # The snippet may contain a fence; the fallback, for clients without CodeBlock, is
            # inert.
            return _element_words(element["fallback"])
        case _:
            return str(element.get("text") or "")


def _row(row: _Object) -> str:
    cells = (
        [_element_words(item) for item in _objects_at(cell, "items")]
        for cell in _objects_at(row, "cells")
    )
    return " \u00b7 ".join(" ".join(cell) for cell in cells)


def _objects_at(thing: _Object, key: str) -> Sequence[_Object]:
    return thing.get(key) or ()


def _key_tree(thing: object) -> object:
    if isinstance(thing, dict):
        return {str(key): _key_tree(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_key_tree(value) for value in thing[:1]]
    return type(thing).__name__
