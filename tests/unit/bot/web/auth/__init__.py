"""Tests of bot.web.auth."""
