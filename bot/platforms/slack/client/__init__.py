"""Slack's Web API: calls at its rate limits, their errors, messages and conversations."""
