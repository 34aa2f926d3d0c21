"""Explain why a question got its answer, or none, in words that any platform can show."""
