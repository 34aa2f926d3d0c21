"""Tests of bot.adapters.slack.calling."""
