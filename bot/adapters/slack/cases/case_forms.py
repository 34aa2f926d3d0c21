"""The forms in which people reply to a question, or say why it is not for them: pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot.adapters.slack.showing.blocks import section, words
from bot.adapters.slack.wire.actions import DECLINE_FORM, REPLY_FORM
from bot.adapters.slack.wire.text import escaped, mrkdwn
from bot.domain.cases import Act, Case
from bot.domain.text.markdown import disarm, split
from bot.escalations.casework import LONGEST_REPLY

FIELD = "words"
"""The field in which something is written."""

FORMS: Mapping[str, Act] = {REPLY_FORM: "reply", DECLINE_FORM: "decline"}

_LONGEST_FIELD = 3000
"""Slack takes no more in one field."""

_SHOWN = 1_000


def reply_form(case: Case) -> dict[str, object]:
    """Return the form for a reply, with the question above it."""
    hint = "It is posted where the question was asked, in your name."
    return _form(case, REPLY_FORM, title="Reply", label="Your reply", hint=hint)


def decline_form(case: Case) -> dict[str, object]:
    """Return the form for a reason."""
    hint = "The one who asked reads it, with your name."
    return _form(case, DECLINE_FORM, title="Not for us", label="Why, or who to ask", hint=hint)


def _form(case: Case, name: str, *, title: str, label: str, hint: str) -> dict[str, object]:
    asked = split(case.question, _SHOWN, lambda part: len(escaped(part)))[0]
    quoted = "\n".join(f"> {line}" for line in mrkdwn(disarm(asked)).split("\n"))
    return {
        "type": "modal",
        "callback_id": name,
        "private_metadata": case.interaction_id,
        "title": words(title),
        "submit": words("Send"),
        "close": words("Cancel"),
        "blocks": [dict(section(split(quoted, 2 * _SHOWN)[0])), _input(label, hint)],
    }


def _input(label: str, hint: str) -> dict[str, object]:
    element = {
        "type": "plain_text_input",
        "action_id": FIELD,
        "multiline": True,
        "max_length": min(LONGEST_REPLY, _LONGEST_FIELD),
        "focus_on_load": True,
    }
    return {
        "type": "input",
        "block_id": FIELD,
        "label": words(label),
        "hint": words(hint),
        "element": element,
    }
