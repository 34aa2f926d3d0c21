"""Tests of bot.platforms.slack.workspace."""
