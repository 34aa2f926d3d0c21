"""Tests of bot.platforms.teams.messages."""
