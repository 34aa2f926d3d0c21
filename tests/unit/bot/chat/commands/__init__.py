"""Tests of bot.chat.commands."""
