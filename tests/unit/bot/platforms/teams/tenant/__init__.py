"""Tests of what a tenant tells of its members, and of where the bot is installed."""
