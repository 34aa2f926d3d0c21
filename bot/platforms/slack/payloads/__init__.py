"""Slack's event payloads and message metadata, as values. Pure."""
