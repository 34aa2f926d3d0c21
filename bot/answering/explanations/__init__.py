"""Explain why a question got its answer, or none, in text that any platform can render."""
