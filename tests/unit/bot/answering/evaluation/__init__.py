"""Tests of bot.answering.evaluation."""
