"""How a call to Slack can fail.

- bot.errors.DeliveryFailed
  - FormRefused       Slack does not take these blocks; a plainer form may do
  - RateLimited       Slack did nothing; ask again after a while
  - ResultUnknown     Slack may have done it and did not say so
  - NotPermitted      Slack said no and did nothing; somebody can mend it
  - bot.errors.DeliveryRefused
    - NeverPermitted  Slack said no, and will say so tomorrow
"""

from __future__ import annotations

from bot.errors import DeliveryFailed, DeliveryRefused


class FormRefused(DeliveryFailed):
    """Slack does not take the message in this form; ``blocks`` are the places that it named."""

    def __init__(self, message: str, code: str, blocks: frozenset[int] = frozenset()) -> None:
        super().__init__(message)
        self.code = code
        self.blocks = blocks


class RateLimited(DeliveryFailed):
    """It is too much for Slack now; ``retry_after_seconds`` says how long to wait."""


class ResultUnknown(DeliveryFailed):
    """Slack may or may not have done what was asked."""


class NotPermitted(DeliveryFailed):
    """Slack did not do what was asked; ``code`` is its name of the reason."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class NeverPermitted(DeliveryRefused):
    """Slack will never do what was asked; ``code`` is its name of the reason."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code
