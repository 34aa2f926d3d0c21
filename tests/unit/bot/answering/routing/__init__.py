"""Tests of bot.answering.routing."""
