"""Chat models and embedders: implementations of the ports `ChatModel` and `Embedder`."""
