"""Tests of bot.observing.tracing."""
