"""Retrieval and grounded answering: search index, models, answers; independent of chat."""
