"""Tests of bot.chat."""
