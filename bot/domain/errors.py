"""Exceptions of the bot, and the Retry-After header of a platform that refuses a call.

- BotError
  - InboxFull              too many messages wait; ask again later
  - InboxUnavailable       the message could not be kept
  - RateExceeded           far too much from one sender: dropped by intent, not to be sent again
  - InteractionUnknown     no such interaction
  - StoreUnavailable       the record can't be read or written
    - RecordRefused        ... because what was to be written does not fit it: a defect
  - FeedbackInvalid        feedback with a value that is not allowed
  - DeliveryFailed         a platform did not take the reply; it may take it later
    - DeliveryRefused      ... and will not take it later either
  - AskerUnknown           a platform can't tell just now who asks; it may soon
  - ClaimLost              another process works on it, or it was withdrawn
  - DataDirInUse           another server runs on the same data directory
  - EngineUnavailable      the durable engine can't be started
  - SettingInvalid         a setting has a wrong value: variable, value, cure
  - ActRefused             an escalation is in a state in which this can't be done
    - EscalationTaken      ... because another person has it
  - DocumentRefused        a document that can't be taken: which, why, and the cure
    - DocumentUnknown      ... because there is none of that name, or no such space or run
    - DocumentInTheWay     ... because its space is filled or worked on otherwise
  - NotAllowed             the caller may not do this
"""

from __future__ import annotations

import math


class BotError(Exception):
    """The bot could not do what was asked."""


class InboxFull(BotError):
    """Too many questions are waiting; ask again in a minute."""


class InboxUnavailable(BotError):
    """The message could not be kept."""


class RateExceeded(BotError):
    """Far too much comes from one person or channel; nothing of it is kept, by intent.

    A platform is answered as if it was taken, for it would only send it again.
    """

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class InteractionUnknown(BotError):
    """There is no such interaction."""


class StoreUnavailable(BotError):
    """The record cannot be read or written."""


class RecordRefused(StoreUnavailable):
    """The record does not take a value; to try again does not help."""


class FeedbackInvalid(BotError):
    """The judgement has a value that may not be given."""


class DeliveryFailed(BotError):
    """The platform did not take the reply; it may say after how many seconds to ask again."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class DeliveryRefused(DeliveryFailed):
    """The platform will never take the reply: blocked, uninstalled, gone."""


class AskerUnknown(BotError):
    """A platform can't tell just now who asks, or who reads along; ask it again soon."""


class ClaimLost(BotError):
    """Another process works on the interaction, or its asker withdrew it."""


class DataDirInUse(BotError):
    """Another server runs on the same data directory."""


class EngineUnavailable(BotError):
    """The durable engine cannot be started."""


class SettingInvalid(BotError):
    """A setting has a wrong value."""


class ActRefused(BotError):
    """The rules of an escalation do not allow it now; the message is for who tried."""


class EscalationTaken(ActRefused):
    """Another person has the escalation."""

    def __init__(self, message: str, *, owner_name: str) -> None:
        super().__init__(message)
        self.owner_name = owner_name


class DocumentRefused(BotError):
    """A document is not taken; the message is for who sent it."""


class DocumentUnknown(DocumentRefused):
    """There is no such document, space or run."""


class DocumentInTheWay(DocumentRefused):
    """It can't be done as things are now."""


class NotAllowed(BotError):
    """The caller may not do this."""


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
