"""Question in, grounded answer out; knows nothing of chat."""
