"""Tests of bot.platforms.slack.escalations."""
