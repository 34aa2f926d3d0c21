"""Tests of bot, module by module."""
