"""Words, sentences, blocks and plain text; pure, and below answering and the index."""
