"""Tests of bot.platforms.teams.commands."""
