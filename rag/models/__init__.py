"""Implementations of the ChatModel and Embedder ports."""
