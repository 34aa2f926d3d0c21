"""Text processing without I/O: words, sentences, blocks and plain text."""
