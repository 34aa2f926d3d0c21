"""Escalations on Slack: cards, actions on them, and notices."""
