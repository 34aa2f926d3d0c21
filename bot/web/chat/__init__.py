"""The web chat page."""
