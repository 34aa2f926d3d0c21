"""What can go wrong between the bot and Microsoft, besides bot.errors.

- bot.errors.BotError
  - KeysUnavailable     the keys that tokens are signed with cannot be fetched
  - bot.errors.DeliveryFailed
    - Busy              Teams did nothing; ask again after a while
    - bot.errors.DeliveryRefused
      - Gone            the activity or its conversation is not there
"""

from __future__ import annotations

from bot.errors import BotError, DeliveryFailed, DeliveryRefused


class KeysUnavailable(BotError):
    """The signing keys cannot be fetched."""


class Busy(DeliveryFailed):
    """It is too much for Teams now; ``retry_after_seconds`` says how long to wait."""


class Gone(DeliveryRefused):
    """There is no such activity or conversation, or it can't be changed any more."""
