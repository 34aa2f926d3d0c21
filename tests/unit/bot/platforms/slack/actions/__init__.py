"""Tests of bot.platforms.slack.actions."""
