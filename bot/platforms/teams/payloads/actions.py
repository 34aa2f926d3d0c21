"""Define the actions of our cards, and parse presses; pure.

The names and keys are a contract with cards that were posted long ago: a name never changes its
meaning. Nothing in a press is verified here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.chat.actions import ActingUser, interaction_named
from bot.domain.cases import Act
from bot.domain.messages import InteractionId, Person
from bot.learning.shadow_mode import Verdict
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    conversation_of,
    is_private,
    object_at,
    person_of,
    reference_of,
    text_at,
)

INTERACTION_KEY = "about"
"""Key in a button's data for the id of its interaction."""

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
    "assign": "frontdesk.case.assign",
    "note": "frontdesk.case.note",
    "ask_more": "frontdesk.case.ask_more",
    "see_more": "frontdesk.case.see_more",
}
"""Buttons on the case card, by action."""

KEEP_ANSWER = "frontdesk.case.keep"
"""Opens the dialog that keeps the answer of a case, and sends it."""
SEND_WRITTEN = "frontdesk.thread.send"
KEEP_WRITTEN = "frontdesk.thread.keep"
"""Buttons of an offer to send what an expert wrote in a case's thread."""

WRITTEN_KEY, CHANNEL_KEY, ROOT_KEY = "written", "channel", "root"
"""Keys in their data for the message, its channel and the first message of its thread."""

ASKER_ACTIONS: Mapping[Act, str] = {
    "resolve": "frontdesk.asker.resolve",
    "reopen": "frontdesk.asker.reopen",
    "show_more": "frontdesk.asker.show",
    "keep_more": "frontdesk.asker.no",
}
"""Buttons below a notice to the asker, by action."""

REQUEST_KEY = "request"
"""Key in the data of an answer to a request to see more: the number of the request."""

DRAFT_ACTIONS: Mapping[Verdict, str] = {
    "agree": "frontdesk.draft.right",
    "disagree": "frontdesk.draft.wrong",
}
"""Buttons below a draft for a channel in shadow mode, by verdict."""

EMPTY_ANSWER: Json = {}
"""Acknowledges an invoke: closes a dialog, leaves a card unchanged."""


@dataclass(frozen=True, slots=True)
class Press:
    """A press of a button. ``data`` is the button's, with the values of the form's fields.

    ``person`` is the presser, by object id. ``channel`` is as in bot.domain.messages. ``on`` is the
    message with the card; "" for a dialog, where Teams does not send it. ``body`` is the whole
    activity.
    """

    name: str
    data: Body
    person: Person
    channel: str
    on: str
    body: Body

    @property
    def about(self) -> InteractionId:
        """Return the button's interaction id. Raises ActionRejected if it has none."""
        return interaction_named(text_at(self.data, INTERACTION_KEY))

    @property
    def presser(self) -> ActingUser:
        return acting_user_of(self.body)


def parse_press(body: Body) -> Press | None:
    """Return the press of a card or dialog; None if the person or the conversation is missing."""
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
    """Return the person who pressed or reacted, and where; unverified."""
    return ActingUser(
        person_of(body),
        conversation_of(body),
        reference=reference_of(body),
        alone=is_private(body),
    )
