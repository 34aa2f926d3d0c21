"""Escalations to people: case cards, their buttons, and notices to the asker."""
