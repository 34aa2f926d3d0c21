"""Exceptions of the bot, and parsing of the Retry-After header of a platform.

- BotError
  - InboxFull              too many messages are queued; ask again later
  - InboxUnavailable       the message could not be stored
  - RateExceeded           far too many from one sender: dropped by intent, not to be resent
  - InteractionUnknown     no such interaction
  - StoreUnavailable       the record can't be read or written
    - RecordRefused        ... because the value violates the schema: a defect
    - RecordUnreadable     ... because what is stored has a format that is not known here
  - FeedbackInvalid        feedback with a value that is not allowed
  - DeliveryFailed         a platform did not accept the reply; a retry may succeed
    - RateLimited          ... because of its rate limit, and did nothing
    - DeliveryRefused      ... and a retry will not succeed either
  - AskerUnknown           a platform can't identify the asker now; a retry may succeed
  - ClaimLost              another process works on the interaction, or it was withdrawn
  - DataDirInUse           another server runs on the same data directory
  - EngineUnavailable      the durable engine can't be started
  - SettingInvalid         a setting has a wrong value: variable, value, cure
  - ActRefused             the state of an escalation does not allow the act
    - EscalationTaken      ... because another person owns it
"""

from __future__ import annotations

import math


class BotError(Exception):
    """Base class of the bot's own errors."""


class InboxFull(BotError):
    """Too many questions are queued; ask again in a minute."""


class InboxUnavailable(BotError):
    """The message could not be stored."""


class RateExceeded(BotError):
    """Far too many messages from one person or channel; the message is dropped on purpose.

    Adapters acknowledge it to the platform all the same, because the platform would resend it.
    """

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class InteractionUnknown(BotError):
    """There is no such interaction."""


class StoreUnavailable(BotError):
    """The record cannot be read or written."""


class RecordRefused(StoreUnavailable):
    """The database rejects a value; a retry does not help."""


class RecordUnreadable(StoreUnavailable):
    """A stored value can't be read; other rows may be."""


class FeedbackInvalid(BotError):
    """The feedback has a value that is not allowed."""


class DeliveryFailed(BotError):
    """The platform did not accept the reply; it may give the seconds to wait before a retry."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RateLimited(DeliveryFailed):
    """The platform's rate limit is reached, so that it did nothing; earlier calls may have."""


class DeliveryRefused(DeliveryFailed):
    """The platform will never accept the reply: bot blocked or uninstalled, or channel deleted."""


class AskerUnknown(BotError):
    """The platform can't identify the asker or the readers now; retry soon."""


class ClaimLost(BotError):
    """Another process works on the interaction, or its asker withdrew it."""


class DataDirInUse(BotError):
    """Another server runs on the same data directory."""


class EngineUnavailable(BotError):
    """The durable engine cannot be started."""


class SettingInvalid(BotError):
    """A setting has a wrong value."""


class ModelGaveUp(BotError):
    """A model stayed unavailable while it was being evaluated."""


class ActRefused(BotError):
    """The escalation's state does not allow the act; the message is worded for the actor."""


class EscalationTaken(ActRefused):
    """Another person owns the escalation."""

    def __init__(self, message: str, *, owner_name: str) -> None:
        super().__init__(message)
        self.owner_name = owner_name


_LONGEST_SECONDS = 86_400.0


def retry_after_seconds(header: object) -> float | None:
    """Return the seconds that a Retry-After header asks for, 0 to one day; None when it has none.

    Only the form in seconds is read: no vendor here sends the form with a date.
    """
    try:
        seconds = float(header) if isinstance(header, str) else math.nan
    except ValueError:
        return None
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), _LONGEST_SECONDS)
