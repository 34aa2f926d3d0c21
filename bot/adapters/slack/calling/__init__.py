"""Calls of Slack's API, each in its time."""
