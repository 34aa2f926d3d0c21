"""Tests of bot.adapters.slack.home."""
