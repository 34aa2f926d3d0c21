"""Tests of bot.tracing."""
