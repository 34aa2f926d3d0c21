"""Tests of bot.web.board."""
