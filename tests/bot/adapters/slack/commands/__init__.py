"""Tests of bot.adapters.slack.commands.commands."""
