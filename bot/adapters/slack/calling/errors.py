"""How a call to Slack can fail.

- bot.errors.DeliveryFailed
  - FormRefused       Slack does not take these blocks; a plainer form may do
  - RateLimited       Slack did nothing; ask again after a while
  - ResultUnknown     Slack may have done it and did not say so
  - NotPermitted      Slack said no and did nothing; somebody can mend it
  - bot.errors.DeliveryRefused
    - FormsRefused    Slack takes a message in no form
    - NeverPermitted  Slack said no, and will say so tomorrow
"""

from __future__ import annotations

from bot.domain.errors import DeliveryFailed, DeliveryRefused

_TOO_LONG = frozenset({"msg_blocks_too_long", "msg_too_long"})


class FormRefused(DeliveryFailed):
    """Slack does not take the message in this form; ``blocks`` are the places that it named.

    ``unknown`` are those of them whose type it does not know; in the others something is wrong.
    """

    def __init__(
        self,
        message: str,
        code: str,
        blocks: frozenset[int] = frozenset(),
        unknown: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.blocks = blocks
        self.unknown = unknown

    @property
    def too_long(self) -> bool:
        """Whether there is too much of it."""
        return self.code in _TOO_LONG


class FormsRefused(DeliveryRefused):
    """Slack takes a message in no form."""


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
