"""Build elements of Adaptive Cards 1.5: text, buttons, inputs, and other people's words.

Action.Execute needs 1.4 or later, and 1.5 is the newest version that all Teams clients show. The
``text`` of a TextBlock is Markdown in Teams: it comes through rendering.text. Text of people and
pages goes into a TextRun, which has no Markdown and no automatic links.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.platforms.teams.payloads.actions import INTERACTION_KEY, card_attachment
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.text import without_card_functions

CARD_VERSION = "1.5"


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


def submit_button(title: str, name: str, about: str = "") -> Json:
    """Return a dialog's submit button (Dispatch.on_dialog)."""
    return {
        "type": "Action.Submit",
        "title": title,
        "data": {"name": name, **_interaction_data(about)},
    }


def form_button(
    title: str, body: Sequence[Json], actions: Sequence[Json], *, first: bool = False
) -> Json:
    """Return a button that unfolds a form in the card; ``first`` as in ``execute_button``."""
    button = {"type": "Action.ShowCard", "title": title, "card": card(body, actions)}
    return {**button, **_button_style(first=first)}


def text_input(
    name: str, label: str, *, lines: bool = False, most: int = 4_000, required: bool = False
) -> Json:
    """Return a text field; its value arrives with the press, under the field's name."""
    asked: Json = {"isRequired": True, "errorMessage": "Please fill this in."} if required else {}
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


def without_backticks(text: str) -> str:
    """Return Markdown text without the backticks around code, which a TextRun would show."""
    return _CODE.sub(lambda code: code[1] or code[3], text)


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
