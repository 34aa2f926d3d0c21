"""Tests of bot.platforms.teams.actions."""
