"""How a call to Slack can fail.

- bot.errors.DeliveryFailed
  - FormRefused       Slack does not take these blocks; a plainer form may do
  - ResultUnknown     Slack may have done it and did not say so
"""

from __future__ import annotations

from bot.errors import DeliveryFailed


class FormRefused(DeliveryFailed):
    """Slack does not take the message in this form."""


class ResultUnknown(DeliveryFailed):
    """Slack may or may not have done what was asked."""
