"""Microsoft Teams adapter: receive messages and mentions, post cited replies.

No other package imports botbuilder.
"""

from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.listeners import mount

__all__ = ["TeamsChannel", "connect", "mount"]
