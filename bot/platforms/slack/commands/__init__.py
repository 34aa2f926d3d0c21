"""Slash commands: questions, settings, explanations and runs over documents."""
