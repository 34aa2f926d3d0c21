"""Tests of bot.platforms.slack.commands."""
