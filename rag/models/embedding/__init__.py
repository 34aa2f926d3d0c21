"""Embedders: the installed one, and any server that speaks OpenAI's embeddings."""
