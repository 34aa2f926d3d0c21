"""Tests of bot.inbox."""
