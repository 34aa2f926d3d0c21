"""Tests of bot.adapters.slack.cases."""
