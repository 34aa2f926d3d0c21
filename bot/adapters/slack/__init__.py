"""Slack: mentions in, threaded replies out."""
