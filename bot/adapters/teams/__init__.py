"""Microsoft Teams: chats and mentions in, cited replies out; the only home of botbuilder."""

from bot.adapters.teams.channel import TeamsChannel, connect
from bot.adapters.teams.endpoint import mount

__all__ = ["TeamsChannel", "connect", "mount"]
