"""Transports of Slack's events, HTTP and Socket Mode, and their dispatch to listeners."""
