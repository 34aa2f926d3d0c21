"""Slack's Web API: rate-limited calls, errors, messages and conversations."""
