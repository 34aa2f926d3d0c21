"""Recognize messages of the "ask a person" button, and whether experts were asked before.

The button below an answer and a typed "yes" are equivalent; experts are asked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.handoff import PERSON_REQUEST, requested_question
from bot.domain.interactions import Escalation, Interaction
from bot.domain.messages import InteractionId, Message
from bot.domain.outcomes import is_kept_without_text

THREAD_MESSAGES_CHECKED = 20
"""Number of the thread's last messages that are checked."""

_PERSON_SUFFIX = ":person"
ASKED_ALREADY = "A person was asked about this already, so I haven't asked a second time."


def is_person_request(message: Message) -> bool:
    """Return whether a message comes from a button that asks for a person."""
    return message.text.startswith(PERSON_REQUEST)


def person_request_id(asked_id: str) -> str:
    """Return the message id of the button below a message; one for each message."""
    return f"{asked_id}{_PERSON_SUFFIX}"


def person_request_below(asked: Message) -> InteractionId:
    """Return the interaction id of the button below a question, whether it was pressed or not."""
    return replace(asked, id=person_request_id(asked.id)).interaction_id


def question_of_person_request(wish: Message) -> InteractionId | None:
    """Return the question's interaction id of a button message; None for a typed message."""
    if not is_person_request(wish) or not wish.id.endswith(_PERSON_SUFFIX):
        return None
    return replace(wish, id=wish.id.removesuffix(_PERSON_SUFFIX)).interaction_id


def asked_already(message: Message, before: Sequence[Interaction]) -> bool:
    """Return whether an earlier message already asked a person what a button message asks.

    ``before`` are the earlier messages of the thread, oldest first. A button without a question
    refers to the one asked last.
    """
    question = requested_question(message.text)
    handed = [
        each
        for each in before
        if each.outcome is not None
        and not each.outcome.silent
        and not is_kept_without_text(each.outcome)
    ]
    if not question:
        handed = handed[-1:]
    return any(_asked_people(each, question) for each in handed)


def _asked_people(interaction: Interaction, question: str) -> bool:
    """Return whether a message asked for a person, about ``question`` or, with "", about any."""
    outcome = interaction.outcome
    response = outcome.response if outcome else None
    if not isinstance(response, Escalation) or response.reason != "asked_for_human":
        return False
    return not question or f"{response.question}\n".startswith(f"{question}\n")
