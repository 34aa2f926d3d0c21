"""What is not done of what somebody pressed, and what they are told."""

from __future__ import annotations

import re

from bot.errors import BotError
from bot.types import InteractionId

GONE = "That question isn't here any more, so there is nothing left to do about it."
LATER = "That didn't work just now. Please try again in a minute."
NOTHING_TO_JUDGE = "There is no answer to judge here any more."
COLLEAGUES_ONLY = "Only colleagues can do this here."
ASKER_ONLY = "Only the one who asked can do this."
UNKNOWN = "I don't know what this button is about any more."

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Declined(BotError):
    """What was pressed is not done; the message is for who pressed."""


def interaction_named(value: str) -> InteractionId:
    """Return the interaction that a button names. Raises Declined for what can't be one."""
    if not _ID.fullmatch(value):
        raise Declined(UNKNOWN)
    return InteractionId(value)
