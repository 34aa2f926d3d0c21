"""Calls of Teams' connector API: authenticated, paced, retried where that is safe."""
