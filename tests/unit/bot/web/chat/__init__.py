"""Tests of bot.web.chat."""
