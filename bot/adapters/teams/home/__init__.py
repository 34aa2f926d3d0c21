"""Whose tenant it is, who is in it, and how the bot stands there."""
