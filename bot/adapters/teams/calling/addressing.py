"""A reference and what is sent to it, as botbuilder's own values: pure."""

from __future__ import annotations

import json

from botbuilder.core import TurnContext
from botbuilder.schema import Activity, ConversationReference
from msrest.exceptions import ClientException

from bot.adapters.teams.wire.body import Json, object_at, objects_at, text_at
from bot.domain.errors import DeliveryRefused

_STREAM, _FINAL = "streaminfo", "final"


def reference_in(reply_to: str) -> ConversationReference:
    """Return a reference. Raises DeliveryRefused for what is none."""
    try:
        reference = ConversationReference().deserialize(json.loads(reply_to))
    except (ValueError, ClientException) as error:
        raise DeliveryRefused(f"{reply_to!r} is no conversation to answer in.") from error
    if not (reference.service_url and reference.conversation):
        raise DeliveryRefused(f"{reply_to!r} does not say where to answer.")
    return reference


def addressed(content: Json, reference: ConversationReference) -> Activity:
    """Return an activity with where it goes."""
    activity = Activity().deserialize({**content})
    # botbuilder's own sending would name the id of its made-up turn as what is replied to.
    return TurnContext.apply_conversation_reference(activity, reference)


def ends_a_stream(content: Json) -> bool:
    """Tell whether an activity ends a stream: a second one is refused, and changes nothing."""
    told = objects_at(object_at({"activity": content}, "activity"), "entities")
    return any(
        text_at(each, "type") == _STREAM and text_at(each, "streamType") == _FINAL for each in told
    )
