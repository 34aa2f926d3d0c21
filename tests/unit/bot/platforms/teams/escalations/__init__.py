"""Tests of bot.platforms.teams.escalations."""
