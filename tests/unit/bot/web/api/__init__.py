"""Tests of bot.web.api."""
