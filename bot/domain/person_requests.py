"""Recognize the button that asks for a person, and whether people were asked already.

The button below an answer and a typed "yes" say the same; people are asked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.handoff import PERSON_REQUEST, requested_question
from bot.domain.interactions import Escalation, Interaction
from bot.domain.messages import InteractionId, Message
from bot.domain.outcomes import is_kept_without_text

THREAD_MESSAGES_CHECKED = 20
"""So many messages of a thread are looked at."""

_PERSON_SUFFIX = ":person"
ASKED_ALREADY = "A person was asked about this already, so I haven't asked a second time."


def is_person_request(message: Message) -> bool:
    """Tell whether a message is what a button says that asks for a person."""
    return message.text.startswith(PERSON_REQUEST)


def person_request_id(asked_id: str) -> str:
    """Return the id of what a button says that asks for a person about a message; one for each."""
    return f"{asked_id}{_PERSON_SUFFIX}"


def person_request_below(asked: Message) -> InteractionId:
    """Return the interaction of the button below a question, whether it was pressed or not."""
    return replace(asked, id=person_request_id(asked.id)).interaction_id


def question_of_person_request(wish: Message) -> InteractionId | None:
    """Return the question that a button was pressed below; None for what somebody wrote."""
    if not is_person_request(wish) or not wish.id.endswith(_PERSON_SUFFIX):
        return None
    return replace(wish, id=wish.id.removesuffix(_PERSON_SUFFIX)).interaction_id


def asked_already(message: Message, before: Sequence[Interaction]) -> bool:
    """Tell whether what a button asks for was done by one of the messages before it.

    ``before`` are those of the same thread, oldest first. A button that names no question is about
    the one that was asked last.
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
    """Tell whether a message asked for a person, about a question or, with "", about any."""
    outcome = interaction.outcome
    response = outcome.response if outcome else None
    if not isinstance(response, Escalation) or response.reason != "asked_for_human":
        return False
    return not question or f"{response.question}\n".startswith(f"{question}\n")
