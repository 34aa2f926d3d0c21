"""Adaptive Cards 1.5 in pieces: pure.

1.5 is what Action.Execute needs, and the newest that Teams shows everywhere. Whatever is put into
``text`` is Markdown to Teams: it comes through bot.adapters.teams.wire.text.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.wire.actions import ABOUT
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import attachment

VERSION = "1.5"


def card(body: Sequence[Json], actions: Sequence[Json] = ()) -> Json:
    """Return a card as wide as Teams allows; one of buttons alone needs no width."""
    wide: Json = {"msteams": {"width": "Full"}} if body else {}
    shown: Json = {"type": "AdaptiveCard", "version": VERSION, "body": list(body), **wide}
    return {**shown, "actions": list(actions)} if actions else shown


def with_card(activity: Json, shown: Json) -> Json:
    """Return a message with a card; it has no text, for Teams would make two messages of it."""
    return {**activity, "attachments": [attachment(shown)]}


def text_block(text: str, **looks: object) -> Json:
    """Return a paragraph; ``looks`` are Adaptive Cards' own, such as weight and isSubtle."""
    return {"type": "TextBlock", "text": text, "wrap": True, **looks}


def press(title: str, name: str, about: str = "", *, first: bool = False, **data: object) -> Json:
    """Return a button whose press comes back as an invoke (Dispatch.on_press).

    ``first``: it stands out, for it is what is usually done.
    """
    sent = {**_about(about), **data}
    button = {"type": "Action.Execute", "title": title, "verb": name, "data": sent}
    return {**button, **_standing_out(first=first)}


def opens(title: str, name: str, about: str = "") -> Json:
    """Return a button that opens a dialog (Dispatch.on_dialog)."""
    sent = {"name": name, **_about(about), "msteams": {"type": "task/fetch"}}
    return {"type": "Action.Submit", "title": title, "data": sent}


def sends(title: str, name: str, about: str = "") -> Json:
    """Return the button of a dialog that sends what was filled in (Dispatch.on_dialog)."""
    return {"type": "Action.Submit", "title": title, "data": {"name": name, **_about(about)}}


def unfolds(
    title: str, body: Sequence[Json], actions: Sequence[Json], *, first: bool = False
) -> Json:
    """Return a button that unfolds a form in the card itself; ``first`` as with ``press``."""
    button = {"type": "Action.ShowCard", "title": title, "card": card(body, actions)}
    return {**button, **_standing_out(first=first)}


def field(
    name: str, label: str, *, lines: bool = False, most: int = 4_000, required: bool = False
) -> Json:
    """Return a field to type into; what was typed comes with the press, under its name."""
    asked: Json = {"isRequired": True, "errorMessage": "Please fill this in."} if required else {}
    shown = {"type": "Input.Text", "id": name, "label": label, "maxLength": most}
    return {**shown, "isMultiline": lines, **asked}


def _about(interaction_id: str) -> Json:
    return {ABOUT: interaction_id} if interaction_id else {}


def _standing_out(*, first: bool) -> Json:
    return {"style": "positive"} if first else {}
