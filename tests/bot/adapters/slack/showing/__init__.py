"""Tests of bot.adapters.slack.showing."""
