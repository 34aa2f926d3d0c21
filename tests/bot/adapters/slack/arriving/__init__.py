"""Tests of bot.adapters.slack.arriving."""
