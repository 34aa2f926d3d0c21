"""Tests of bot.answering."""
