"""Whose tenant it is, who is in it, and where the bot was added to it."""
