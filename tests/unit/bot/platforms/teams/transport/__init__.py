"""Tests of bot.platforms.teams.transport."""
