"""Slack: mentions and direct messages in, threaded replies out."""

from bot.adapters.slack.channel import SlackChannel, connect
from bot.adapters.slack.endpoint import mount

__all__ = ["SlackChannel", "connect", "mount"]
