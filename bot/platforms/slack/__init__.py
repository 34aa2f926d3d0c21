"""Slack: mentions and direct messages in, threaded replies out."""

from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.transport.http import mount

__all__ = ["SlackChannel", "connect", "mount"]
