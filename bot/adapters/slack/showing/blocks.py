"""Slack's building blocks, as far as several messages use them: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.domain.text.markdown import clip

Block = Mapping[str, object]

SECTION_LIMIT = 2_900
"""Slack takes 3,000 characters in a section; some room is kept."""

_LABEL_LIMIT = 75
_INERT = str.maketrans({"<": "\u2039", ">": "\u203a"})
"""Nobody says whether Slack decodes entities on a button, so there are none."""


def section(text: str) -> Block:
    """Return a paragraph of escaped text."""
    return {"type": "section", "text": mrkdwn_object(text)}


def context(text: str) -> Block:
    """Return a line of escaped text in small print."""
    return {"type": "context", "elements": [mrkdwn_object(text)]}


def actions(buttons: Sequence[Block]) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def button(label: str, action_id: str, value: str, *, primary: bool = False) -> Block:
    """Return a button; whatever its label holds is shown as it is, cut at 75 characters."""
    shown = {"type": "button", "text": words(label), "action_id": action_id, "value": value}
    return {**shown, "style": "primary"} if primary else shown


def words(text: str) -> Block:
    """Return a plain_text object in which nothing is live."""
    shown = clip(text.translate(_INERT), _LABEL_LIMIT)
    return {"type": "plain_text", "text": shown or "\u2026", "emoji": False}


def mrkdwn_object(text: str) -> Block:
    """Return a text object; addresses in it stay text unless they are marked as links."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}
