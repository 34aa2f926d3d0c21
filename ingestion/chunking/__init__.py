"""Split documents into chunks that fit the embedder."""
