"""What proofs of a whole application share, on whatever platform."""
