"""Tests of bot.adapters.slack.pressed."""
