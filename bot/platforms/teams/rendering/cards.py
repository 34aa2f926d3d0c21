"""Build Adaptive Cards 1.5, responses to presses, and plain messages; pure.

Action.Execute needs 1.4 or later, and 1.5 is the newest version that all Teams clients show. The
``text`` of a TextBlock is Markdown in Teams: it comes through rendering.text. Text of people and
pages goes into a TextRun, which has no Markdown and no automatic links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bot.domain.interactions import Delivery
from bot.domain.markdown import split
from bot.domain.outcomes import undelivered_text
from bot.domain.texts import join_texts, on_texts, tr
from bot.platforms.teams.payloads.actions import INTERACTION_KEY
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    card_plain,
    size,
    split_markdown,
    teams_label,
    teams_plain,
    without_card_functions,
)

CARD_VERSION = "1.5"


CARD_TYPE = "application/vnd.microsoft.card.adaptive"
_TEXT_TYPE = "application/vnd.microsoft.activity.message"

Height = Literal["small", "medium", "large"]


def card_answer(shown: Json) -> Json:
    """Return the response that replaces the card for its presser."""
    return {"statusCode": 200, "type": CARD_TYPE, "value": shown}


def text_answer(words: str) -> Json:
    """Return the response that shows a text to the presser only; the card stays."""
    return {"statusCode": 200, "type": _TEXT_TYPE, "value": words}


def dialog(title: str, content: Json, *, height: Height = "medium") -> Json:
    """Return the response that opens a dialog (formerly task module) with a card."""
    attached = card_attachment(content)
    shown = {"title": title, "height": height, "width": "medium", "card": attached}
    return {"task": {"type": "continue", "value": shown}}


def dialog_text(words: str) -> Json:
    """Return the response that opens a dialog with a text only."""
    return {"task": {"type": "message", "value": words}}


def card_attachment(content: Json) -> Json:
    """Return a card as an attachment of a message or a dialog."""
    return {"contentType": CARD_TYPE, "content": content}


def card(body: Sequence[Json], actions: Sequence[Json] = ()) -> Json:
    """Return a card of full width; one with only buttons keeps its default width."""
    wide: Json = {"msteams": {"width": "Full"}} if body else {}
    shown: Json = {"type": "AdaptiveCard", "version": CARD_VERSION, "body": list(body), **wide}
    return {**shown, "actions": list(actions)} if actions else shown


def with_card(activity: Json, shown: Json) -> Json:
    """Return a message with a card and no text, as Teams would split both into two messages."""
    return {**activity, "attachments": [card_attachment(shown)]}


def text_block(text: str, **looks: object) -> Json:
    """Return a paragraph; ``looks`` are Adaptive Cards' properties, such as weight and isSubtle."""
    return {"type": "TextBlock", "text": text, "wrap": True, **looks}


def execute_button(
    title: str, name: str, about: str = "", *, first: bool = False, **data: object
) -> Json:
    """Return a button whose press arrives as an invoke (Dispatch.on_press).

    ``first``: highlight the button as the usual choice.
    """
    sent = {**_interaction_data(about), **data}
    button = {"type": "Action.Execute", "title": title, "verb": name, "data": sent}
    return {**button, **_button_style(first=first)}


def dialog_button(title: str, name: str, about: str = "") -> Json:
    """Return a button that opens a dialog (Dispatch.on_dialog)."""
    sent = {"name": name, **_interaction_data(about), "msteams": {"type": "task/fetch"}}
    return {"type": "Action.Submit", "title": title, "data": sent}


def submit_button(title: str, name: str, about: str = "", **data: object) -> Json:
    """Return a dialog's submit button (Dispatch.on_dialog)."""
    sent = {"name": name, **_interaction_data(about), **data}
    return {"type": "Action.Submit", "title": title, "data": sent}


def form_button(
    title: str, body: Sequence[Json], actions: Sequence[Json], *, first: bool = False
) -> Json:
    """Return a button that unfolds a form in the card; ``first`` as in ``execute_button``."""
    button = {"type": "Action.ShowCard", "title": title, "card": card(body, actions)}
    return {**button, **_button_style(first=first)}


_REQUIRED = tr("Please fill this in.")


def text_input(
    name: str, label: str, *, lines: bool = False, most: int = 4_000, required: bool = False
) -> Json:
    """Return a text field; its value arrives with the press, under the field's name."""
    asked: Json = {"isRequired": True, "errorMessage": _REQUIRED} if required else {}
    shown = {"type": "Input.Text", "id": name, "label": label, "maxLength": most}
    return {**shown, "isMultiline": lines, **asked}


def _interaction_data(interaction_id: str) -> Json:
    return {INTERACTION_KEY: interaction_id} if interaction_id else {}


def _button_style(*, first: bool) -> Json:
    return {"style": "positive"} if first else {}


_CODE = re.compile(r"```[\w+-]*\n([^`]+)```|(`{1,3})([^`]+)\2")


def text_run(text: str, **looks: object) -> Json:
    """Return a text as a line of its own; ``looks`` are those of a TextRun."""
    return text_runs((text, looks))


def text_runs(*runs: tuple[str, dict[str, object]], **looks: object) -> Json:
    """Return differently formatted texts on one line; ``looks`` are those of the block."""
    shown = [{"type": "TextRun", "text": inert_text(text), **more} for text, more in runs]
    return {"type": "RichTextBlock", "inlines": shown, **looks}


@on_texts
def without_backticks(text: str) -> str:
    """Return Markdown text without the backticks around code, which a TextRun would show."""
    return _CODE.sub(lambda code: code[1] or code[3], text)


@on_texts
def inert_text(text: str) -> str:
    """Return text without control characters and card functions."""
    kept = "".join(c for c in text if c.isprintable() or c in "\u200d\ufe0f")
    return without_card_functions(kept)


def text_run_paragraphs(text: str, *, most: int) -> list[Json]:
    """Return the non-empty lines as elements; lines beyond ``most`` are joined to the last."""
    written = [line.strip() for line in text.splitlines() if line.strip()]
    if len(written) > most:
        written = [*written[: most - 1], " ".join(written[most - 1 :])]
    return [text_run(line) for line in written]


_BULLET = "- "


def text_messages(text: str, *live: str) -> tuple[Json, ...]:
    """Return lines of plain text as messages, in order, each within Teams' size limit.

    ``live`` is Markdown built by our code, appended at the end.
    """
    parts = split(join_texts("\n\n", [_lines_as_markdown(text), *live]), CONTENT_BUDGET, size)
    return tuple({"type": "message", "text": part, "textFormat": "markdown"} for part in parts)


def text_paragraphs(text: str) -> Sequence[Json]:
    """Return lines of plain text as elements of a card; a line of ours keeps its language."""
    lines = text.split("\n") if "\n" in text else [text]
    return [
        text_block(card_plain(line), spacing="Default" if number == 0 else "Small")
        for number, line in enumerate(filter(str.strip, lines))
    ]


@on_texts
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

_SHORTENED_NOTE = tr("_Teams would not take the whole answer; this is the beginning._")
MAY_BE_TWICE = tr("_Teams didn't confirm this message, so you may see it twice._")


_Object = Mapping[str, Any]
"""A JSON object that this bot built."""


def plain_form(activity: _Object, *, shorten: bool = False) -> Json | None:
    """Return a message with only the text and links; None if it has only buttons.

    ``shorten``: keep only the beginning, as the message was too long.
    """
    words = str(activity.get("text") or "") or join_texts("\n\n", _words_on_cards(activity))
    links = join_texts("\n", _links(activity))
    if shorten and (parts := split_markdown(words, _SHORT_BYTES))[1:]:
        words = join_texts("\n\n", (parts[0], _SHORTENED_NOTE))
    text = join_texts("\n\n", (part for part in (words, links) if part.strip()))
    return _markdown_message(text) if text else None


def joined_form(activities: Sequence[Json]) -> Json | None:
    """Return a text and the card below it as one message; None if they are more, or too large.

    Only the end of a stream may have both: elsewhere Teams splits them (see ``with_card``).
    """
    match activities:
        case [{"text": str()} as text, {"attachments": hung}]:
            joined = {**text, "attachments": hung}
            return joined if size(joined) <= CONTENT_BUDGET else None
        case _:
            return None


def refused_notice(delivery: Delivery) -> Json:
    """Return the line that replaces an answer which Teams rejects in every form."""
    return _markdown_message(undelivered_text(delivery.message, delivery.outcome, "Teams"))


def marked_as_repeated(activity: _Object) -> Json:
    """Return a message with a remark below its text, or its card, that it may be a duplicate."""
    if "text" in activity:
        return {**activity, "text": join_texts("\n\n", (str(activity["text"]), MAY_BE_TWICE))}
    (hung,) = activity["attachments"]
    said = {**hung["content"], "body": [*hung["content"]["body"], text_block(MAY_BE_TWICE)]}
    return with_card({**activity}, said)


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
