"""Presses of buttons on our cards: who pressed what where. Nothing of it is checked yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.adapters.teams.wire.actions import ABOUT
from bot.adapters.teams.wire.body import (
    Body,
    conversation_of,
    object_at,
    person_of,
    text_at,
    thread_id_of,
)
from bot.errors import BotError
from bot.types import InteractionId, Person

GONE = "That question isn't here any more, so there is nothing left to do about it."
LATER = "That didn't work just now. Please try again in a minute."
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Declined(BotError):
    """What was pressed is not done; the message is for who pressed."""


@dataclass(frozen=True, slots=True)
class Press:
    """One press. ``data`` is the button's, with what was filled in beside it.

    ``person`` is who pressed, by object id. ``channel`` and ``thread`` are those of bot.types.
    ``on`` is the message with the card, "" where Teams does not say (a dialog). ``body`` is the
    whole activity.
    """

    name: str
    data: Body
    person: Person
    channel: str
    thread: str
    on: str
    body: Body

    @property
    def about(self) -> InteractionId:
        """Return the interaction that the button names. Raises Declined for what can't be one."""
        named = text_at(self.data, ABOUT)
        if not _ID.fullmatch(named):
            raise Declined("I don't know what this button is about any more.")
        return InteractionId(named)


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
        thread=thread_id_of(body),
        on=text_at(body, "replyToId"),
        body=body,
    )
