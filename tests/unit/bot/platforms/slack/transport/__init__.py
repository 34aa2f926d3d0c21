"""Tests of bot.platforms.slack.transport."""
