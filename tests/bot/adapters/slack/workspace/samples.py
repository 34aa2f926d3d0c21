"""Blocks as the bot sends them, to be changed for a test."""

from __future__ import annotations

from tests.bot.adapters.slack.workspace.answers import Json

BUTTON: Json = {
    "type": "button",
    "action_id": "ask",
    "text": {"type": "plain_text", "text": "Ask a person"},
    "value": "q1",
}
ROW: Json = {"type": "actions", "elements": [BUTTON]}


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def options(count: int = 2) -> list[Json]:
    return [{"text": plain(f"Choice {n}"), "value": f"c{n}"} for n in range(count)]


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**changes: object) -> Json:
    return {**BUTTON, **changes}


def row(*elements: Json, **changes: object) -> Json:
    return {"type": "actions", "elements": [*elements], **changes}


def asks(element: Json, **changes: object) -> Json:
    return {"type": "input", "label": plain("Say"), "element": element, **changes}


FEEDBACK: Json = {
    "type": "feedback_buttons",
    "action_id": "vote",
    "positive_button": {"text": plain("Good"), "value": "up"},
    "negative_button": {"text": plain("Bad"), "value": "down"},
}
TRASH: Json = {"type": "icon_button", "icon": "trash", "text": plain("Remove"), "value": "x"}
MENU: Json = {"type": "static_select", "action_id": "pick", "options": options()}
TEXT: Json = {"type": "plain_text_input", "action_id": "say"}
