"""Tests of bot.platforms."""
