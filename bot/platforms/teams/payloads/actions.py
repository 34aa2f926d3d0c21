"""Name the actions of our cards, read a press of one, and build the answer to an invoke; pure.

The names and keys are a contract with cards that were posted long ago: a name is never given
another meaning. Teams waits a few seconds for an answer. Nothing of a press is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bot.chat.actions import ActingUser, interaction_named
from bot.domain.cases import Act
from bot.domain.messages import InteractionId, Person
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    conversation_of,
    is_private,
    object_at,
    person_of,
    text_at,
)
from bot.platforms.teams.payloads.references import reference_of

INTERACTION_KEY = "about"
"""The key in a button's data under which the interaction is named that it is about."""

ASK_PERSON = "frontdesk.person"
CHOOSE_OPTION = "frontdesk.option"
SHOW_WHY = "frontdesk.why"
EDIT_SETTINGS = "frontdesk.settings"
CANCEL_RUN = "frontdesk.run.cancel"
CASE_ACTIONS: Mapping[Act, str] = {
    "claim": "frontdesk.case.claim",
    "release": "frontdesk.case.release",
    "reply": "frontdesk.case.reply",
    "resolve": "frontdesk.case.resolve",
    "decline": "frontdesk.case.decline",
}
"""On the card that people are asked by."""

ASKER_ACTIONS: Mapping[Act, str] = {
    "resolve": "frontdesk.asker.resolve",
    "reopen": "frontdesk.asker.reopen",
}
"""Below what an asker is told."""


CARD_TYPE = "application/vnd.microsoft.card.adaptive"
_TEXT_TYPE = "application/vnd.microsoft.activity.message"

Height = Literal["small", "medium", "large"]


def card_answer(card: Json) -> Json:
    """Answer a press with the card that its presser sees instead from now on."""
    return {"statusCode": 200, "type": CARD_TYPE, "value": card}


def text_answer(words: str) -> Json:
    """Answer a press with words that only its presser sees; the card stays."""
    return {"statusCode": 200, "type": _TEXT_TYPE, "value": words}


def dialog(title: str, card: Json, *, height: Height = "medium") -> Json:
    """Answer with a dialog, formerly called a task module, that shows a card."""
    shown = {"title": title, "height": height, "width": "medium", "card": card_attachment(card)}
    return {"task": {"type": "continue", "value": shown}}


def dialog_text(words: str) -> Json:
    """Answer with a dialog that says something, and nothing else."""
    return {"task": {"type": "message", "value": words}}


def card_attachment(card: Json) -> Json:
    """Return a card as it is attached to a message or a dialog."""
    return {"contentType": CARD_TYPE, "content": card}


EMPTY_ANSWER: Json = {}
"""Closes a dialog, keeps a card: it was taken."""


@dataclass(frozen=True, slots=True)
class Press:
    """One press. ``data`` is the button's, with what was filled in beside it.

    ``person`` is who pressed, by object id. ``channel`` is as in bot.domain.messages. ``on`` is the
    message with the card, "" where Teams does not say (a dialog). ``body`` is the whole activity.
    """

    name: str
    data: Body
    person: Person
    channel: str
    on: str
    body: Body

    @property
    def about(self) -> InteractionId:
        """Return the interaction that the button names. Raises ActionRejected without one."""
        return interaction_named(text_at(self.data, INTERACTION_KEY))

    @property
    def presser(self) -> ActingUser:
        return acting_user_of(self.body)


def parse_press(body: Body) -> Press | None:
    """Return what was pressed, on a card or in a dialog; None for what names nobody or nothing."""
    action = object_at(body, "value", "action")
    data = object_at(action, "data") if action else object_at(body, "value", "data")
    name = text_at(action, "verb") or text_at(data, "name")
    person = person_of(body)
    if not (name and person.id and conversation_of(body)):
        return None
    return Press(
        name=name,
        data=data,
        person=person,
        channel=conversation_of(body),
        on=text_at(body, "replyToId"),
        body=body,
    )


def acting_user_of(body: Body) -> ActingUser:
    """Return who pressed or reacted, and where; nothing of it is checked yet."""
    return ActingUser(
        person_of(body),
        conversation_of(body),
        reference=reference_of(body),
        alone=is_private(body),
    )
