"""Tests of bot.escalations."""
