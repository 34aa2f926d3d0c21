"""Tests of bot.adapters.slack.said."""
