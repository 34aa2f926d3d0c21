"""Tests of bot.observability."""
