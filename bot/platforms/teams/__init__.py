"""Microsoft Teams: take messages and mentions, post cited replies; the only home of botbuilder."""

from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.transport.http import mount

__all__ = ["TeamsChannel", "connect", "mount"]
