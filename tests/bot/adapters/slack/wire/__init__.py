"""Tests of bot.adapters.slack.wire."""
