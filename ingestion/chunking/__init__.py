"""Documents to chunks that fit the embedder."""
