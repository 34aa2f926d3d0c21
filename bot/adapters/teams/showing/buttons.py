"""What can be pressed below a reply: pure. The names are those of wire/actions.py."""

from __future__ import annotations

from typing import assert_never

from bot.adapters.teams.showing.elements import opens, press
from bot.adapters.teams.wire.actions import OPTION, PERSON, WHY
from bot.adapters.teams.wire.body import Json
from bot.answering.explanations.steps import title_of
from bot.domain.text.markdown import clip
from bot.domain.types import Clarification, Escalation, InteractionId, Outcome, Reply

MOST = 6
"""Teams shows six buttons of a card side by side; more would hide behind a menu."""

_LONGEST_LABEL = 75


def buttons_of(outcome: Outcome, interaction_id: InteractionId) -> tuple[Json, ...]:
    """Return what may be pressed below an outcome; small talk and refusals have nothing."""
    why = opens(title_of(outcome), WHY, interaction_id)
    match outcome.response:
        case Reply(refused=True) | Reply(tone="generic"):
            return ()
        case Reply():
            wanted = outcome.response.confidence_level in {"partial", "unsure"}
            return (press("Ask a person", PERSON, interaction_id, first=wanted), why)
        case Clarification(options=options):
            return _choices(options, interaction_id)
        case Escalation(consent_needed=True):
            ask = press("Yes, ask a person", PERSON, interaction_id, first=True)
            return (ask, why)
        case Escalation():
            return (why,)
        case _:
            assert_never(outcome.response)


def _choices(options: tuple[str, ...], interaction_id: InteractionId) -> tuple[Json, ...]:
    """Return the first options as buttons; all of them are listed in the text."""
    offered = [
        press(clip(option, _LONGEST_LABEL), OPTION, interaction_id, option=number)
        for number, option in enumerate(options)
        if option.strip()
    ]
    return tuple(offered[:MOST])
