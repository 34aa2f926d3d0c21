"""Tests of bot.platforms.teams."""
