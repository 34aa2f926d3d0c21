"""What Slack sent, in the form that Bolt takes; odd shapes are told apart before they do harm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from slack_bolt.request.async_request import AsyncBoltRequest

Mode = Literal["http", "socket_mode"]

_OBJECTS = (
    "channel container enterprise event item message response_metadata state team user view"
).split()
_LISTS_OF_OBJECTS = ("actions", "authorizations", "response_urls")


ODD_SHAPE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
"""What comes of looking into a body that has another shape than Slack documents."""


class Malformed(ValueError):
    """Slack does not send such a thing."""


def bolt_request(
    body: str | dict[str, object], headers: Mapping[str, str], *, mode: Mode
) -> AsyncBoltRequest:
    """Return a request for Bolt. Raises Malformed."""
    try:
        request = AsyncBoltRequest(body=body, headers=dict(headers), mode=mode)
        sound = _is_sound(request.body)
    except ODD_SHAPE as error:
        # Bolt reads ids out of the body at once, and trusts its shape.
        raise Malformed("The body is nothing that Slack sends.") from error
    if not sound:
        raise Malformed("The body is no request.")
    return request


def _is_sound(body: object) -> bool:
    """Tell whether what others look into can be looked into."""
    if not isinstance(body, Mapping) or not isinstance(body.get("type", ""), str):
        return False
    event = body.get("event", {})
    return (
        isinstance(event, Mapping)
        and isinstance(event.get("type", ""), str)
        and all(isinstance(body.get(key), Mapping | str | None) for key in _OBJECTS)
        and all(_are_objects(body.get(key)) for key in _LISTS_OF_OBJECTS)
        and body.get("actions") != []
    )


def _are_objects(values: object) -> bool:
    if values is None:
        return True
    return isinstance(values, list) and all(isinstance(value, Mapping) for value in values)
