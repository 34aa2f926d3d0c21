"""Runs that are shown in a chat to their end, over kills; for all platforms."""
