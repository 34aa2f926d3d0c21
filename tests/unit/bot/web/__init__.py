"""Tests of bot.web."""
