"""Tests of bot.platforms.teams.payloads."""
