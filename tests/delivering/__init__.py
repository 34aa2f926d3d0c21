"""What the proofs share that nothing is lost and nothing said twice, on whatever platform."""
