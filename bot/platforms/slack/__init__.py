"""Slack adapter: receive mentions and direct messages, reply in threads."""

from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.listeners import mount

__all__ = ["SlackChannel", "connect", "mount"]
