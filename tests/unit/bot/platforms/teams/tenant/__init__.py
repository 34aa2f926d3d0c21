"""Tests of bot.platforms.teams.tenant."""
