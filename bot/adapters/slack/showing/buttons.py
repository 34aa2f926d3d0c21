"""What can be pressed below a reply: pure. The names are those of actions.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from bot.adapters.slack.showing.blocks import Block, actions, button, words
from bot.adapters.slack.wire.actions import ASK_PERSON, FEEDBACK, MORE, OPTION, WHY
from bot.answering.explanations.steps import title_of
from bot.domain.types import Clarification, Escalation, InteractionId, Outcome, Reply

_MOST_OPTIONS = 4


@dataclass(frozen=True, slots=True)
class Buttons:
    """The last blocks of a message, either of which a workspace may not take."""

    thumbs: Block | None = None
    row: Block | None = None


NONE = Buttons()


def buttons_of(outcome: Outcome, interaction_id: InteractionId) -> Buttons:
    """Return what may be pressed below an outcome; small talk and refusals have nothing."""
    why = button(title_of(outcome), WHY, interaction_id)
    match outcome.response:
        case Reply(refused=True) | Reply(tone="generic"):
            return NONE
        case Reply():
            wanted = outcome.response.confidence_level in {"partial", "unsure"}
            ask = button("Ask a person", ASK_PERSON, interaction_id, primary=wanted)
            return Buttons(_thumbs(interaction_id), actions([ask, why]))
        case Clarification(options=options):
            return _choices(options, interaction_id)
        case Escalation(consent_needed=True):
            ask = button("Yes, ask a person", ASK_PERSON, interaction_id, primary=True)
            return Buttons(row=actions([ask, why]))
        case Escalation():
            return Buttons(row=actions([why]))
        case _:
            assert_never(outcome.response)


def more_button(interaction_id: InteractionId) -> Block:
    """Return the button that shows its presser what only they may read."""
    return actions([button("Show it to me", MORE, interaction_id)])


def _choices(options: tuple[str, ...], interaction_id: InteractionId) -> Buttons:
    offered = [
        button(option, f"{OPTION}:{number}", f"{interaction_id}:{number}")
        for number, option in enumerate(options)
        if option.strip()
    ]
    return Buttons(row=actions(offered[:_MOST_OPTIONS])) if offered else NONE


def _thumbs(interaction_id: InteractionId) -> Block:
    element = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": _thumb("Helpful", f"up:{interaction_id}"),
        "negative_button": _thumb("Not helpful", f"down:{interaction_id}"),
    }
    return {"type": "context_actions", "elements": [element]}


def _thumb(label: str, value: str) -> Block:
    return {"text": words(label), "value": value, "accessibility_label": label}
