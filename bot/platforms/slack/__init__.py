"""Slack adapter: receive mentions and direct messages, reply in threads."""

from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.transport.http import mount

__all__ = ["SlackChannel", "connect", "mount"]
