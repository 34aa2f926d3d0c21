"""Decide what a message wants, and what it asks when it is read with its conversation."""
