"""Adaptive Cards 1.5 in pieces: pure.

1.5 is what Action.Execute needs, and the newest that Teams shows everywhere. Whatever is put into
``text`` is Markdown to Teams: it comes through bot.adapters.teams.wire.text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from bot.adapters.teams.wire.actions import ABOUT
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import attachment

VERSION = "1.5"

Style = Literal["default", "positive", "destructive"]


def card(body: Sequence[Json], actions: Sequence[Json] = ()) -> Json:
    """Return a card as wide as Teams allows."""
    shown: Mapping[str, object] = {
        "type": "AdaptiveCard",
        "version": VERSION,
        "body": list(body),
        "msteams": {"width": "Full"},
    }
    return {**shown, "actions": list(actions)} if actions else shown


def with_card(activity: Json, shown: Json) -> Json:
    """Return a message with a card; it has no text, for Teams would make two messages of it."""
    return {**activity, "attachments": [attachment(shown)]}


def text_block(text: str, **looks: object) -> Json:
    """Return a paragraph; ``looks`` are Adaptive Cards' own, such as weight and isSubtle."""
    return {"type": "TextBlock", "text": text, "wrap": True, **looks}


def press(
    title: str, name: str, about: str = "", *, style: Style = "default", **data: object
) -> Json:
    """Return a button whose press comes back as an invoke (Dispatch.on_press)."""
    return _styled(
        {
            "type": "Action.Execute",
            "title": title,
            "verb": name,
            "data": {**({ABOUT: about} if about else {}), **data},
        },
        style,
    )


def opens(title: str, name: str, about: str = "", **data: object) -> Json:
    """Return a button that opens a dialog (Dispatch.on_dialog)."""
    named = {"name": name, **({ABOUT: about} if about else {}), **data}
    return {
        "type": "Action.Submit",
        "title": title,
        "data": {**named, "msteams": {"type": "task/fetch"}},
    }


def sends(title: str, name: str, about: str = "", **data: object) -> Json:
    """Return the button of a dialog that sends what was filled in (Dispatch.on_dialog)."""
    named = {"name": name, **({ABOUT: about} if about else {}), **data}
    return {"type": "Action.Submit", "title": title, "data": named}


def unfolds(title: str, body: Sequence[Json], actions: Sequence[Json]) -> Json:
    """Return a button that unfolds a form in the card itself."""
    return {"type": "Action.ShowCard", "title": title, "card": card(body, actions)}


def link(title: str, url: str) -> Json:
    """Return a button that opens an address."""
    return {"type": "Action.OpenUrl", "title": title, "url": url}


def field(
    name: str, label: str, *, lines: bool = False, most: int = 4_000, required: bool = False
) -> Json:
    """Return a field to type into; what was typed comes with the press, under its name."""
    asked: Json = {"isRequired": True, "errorMessage": "Please fill this in."} if required else {}
    shown = {"type": "Input.Text", "id": name, "label": label, "maxLength": most}
    return {**shown, "isMultiline": lines, **asked}


def _styled(action: Json, style: Style) -> Json:
    return action if style == "default" else {**action, "style": style}
