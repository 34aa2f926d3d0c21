"""What can go wrong between the bot and Microsoft, besides bot.errors.

- bot.errors.BotError
  - KeysUnavailable     the keys that tokens are signed with cannot be fetched
"""

from __future__ import annotations

from bot.errors import BotError


class KeysUnavailable(BotError):
    """The signing keys cannot be fetched."""
