"""Tests of bot.platforms.slack.messages."""
