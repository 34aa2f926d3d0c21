"""Slash commands: questions, settings, explanations and reindexing runs."""
