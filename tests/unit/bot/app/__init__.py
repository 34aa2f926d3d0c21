"""Tests of bot.app."""
