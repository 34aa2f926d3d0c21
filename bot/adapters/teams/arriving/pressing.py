"""Presses of buttons on our cards: who pressed what where. Nothing of it is checked yet."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.teams.wire.actions import ABOUT
from bot.adapters.teams.wire.body import (
    Body,
    conversation_of,
    is_private,
    object_at,
    person_of,
    text_at,
)
from bot.adapters.teams.wire.reference import reference_of
from bot.chat.actions import ActingUser, interaction_named
from bot.domain.types import InteractionId, Person


@dataclass(frozen=True, slots=True)
class Press:
    """One press. ``data`` is the button's, with what was filled in beside it.

    ``person`` is who pressed, by object id. ``channel`` is that of bot.domain.types. ``on`` is the message
    with the card, "" where Teams does not say (a dialog). ``body`` is the whole activity.
    """

    name: str
    data: Body
    person: Person
    channel: str
    on: str
    body: Body

    @property
    def about(self) -> InteractionId:
        """Return the interaction that the button names. Raises Declined for what can't be one."""
        return interaction_named(text_at(self.data, ABOUT))

    @property
    def presser(self) -> ActingUser:
        return presser_of(self.body)


def press_of(body: Body) -> Press | None:
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


def presser_of(body: Body) -> ActingUser:
    """Return who pressed or reacted, and where; nothing of it is checked yet."""
    return ActingUser(
        person_of(body),
        conversation_of(body),
        reference=reference_of(body),
        alone=is_private(body),
    )
