"""Routing: classify a message's intent and rewrite it as a standalone question."""
