"""Embedders: the installed model, and any server with OpenAI's embeddings API."""
