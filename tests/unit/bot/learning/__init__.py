"""Tests of bot.learning."""
