"""How a reason is asked for and thanked for: pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.adapters.slack.showing.blocks import Block, actions, button, section, words
from bot.adapters.slack.showing.render import Form, Forms
from bot.adapters.slack.wire.actions import ASK_PERSON, REASON, REASON_FORM
from bot.chat.votes import COMMENT_QUESTION, COMMENT_READERS, COMMENT_THANKS, REASON_LABELS
from bot.domain.feedback import LONGEST_COMMENT, Reason
from bot.domain.types import InteractionId

OTHER: Reason = "other"
MORE_WORDS = "more"
COMMENT = "comment"
"""The id of the field, and of its block."""

REASON_ID = re.compile(rf"^{REASON}:\w+$")

_QUESTION = "Thanks for telling me. What was wrong with the answer? Only you see this."
_NOTED = "Thanks, I've noted: \u201c{label}\u201d."


@dataclass(frozen=True, slots=True)
class Shown:
    """A message for one person; ``text`` is for notifications."""

    text: str
    blocks: tuple[Block, ...]


def asking(interaction_id: InteractionId) -> Forms:
    """Return the question what was wrong, with a person as another way."""
    reasons = [_reason(label, code, interaction_id) for code, label in REASON_LABELS.items()]
    blocks = (section(_QUESTION), actions(reasons), actions([_person(interaction_id)]))
    return (Form(_QUESTION, blocks), Form(_QUESTION))


def noted(interaction_id: InteractionId, reason: str) -> Shown:
    """Return what stands in place of the question once a reason is given."""
    label = next((label for code, label in REASON_LABELS.items() if code == reason), reason)
    text = _NOTED.format(label=label)
    more = _reason("Say more\u2026", MORE_WORDS, interaction_id)
    return Shown(text, (section(text), actions([more, _person(interaction_id)])))


def thanks(interaction_id: InteractionId) -> Shown:
    """Return what stands in place of the question once somebody said it in their own words."""
    return Shown(COMMENT_THANKS, (section(COMMENT_THANKS), actions([_person(interaction_id)])))


def form(about: str) -> Mapping[str, object]:
    """Return the form for words of one's own; ``about`` comes back with it."""
    field = {
        "type": "plain_text_input",
        "action_id": COMMENT,
        "multiline": True,
        "max_length": LONGEST_COMMENT,
    }
    asked = {
        "type": "input",
        "block_id": COMMENT,
        "label": words(COMMENT_QUESTION),
        "hint": words(COMMENT_READERS),
        "element": field,
    }
    return {
        "type": "modal",
        "callback_id": REASON_FORM,
        "private_metadata": about,
        "title": words("What was wrong?"),
        "submit": words("Send"),
        "close": words("Cancel"),
        "blocks": [asked],
    }


def _reason(label: str, code: str, interaction_id: InteractionId) -> Block:
    return button(label, f"{REASON}:{code}", f"{code}:{interaction_id}")


def _person(interaction_id: InteractionId) -> Block:
    return button("Ask a person", ASK_PERSON, interaction_id)
