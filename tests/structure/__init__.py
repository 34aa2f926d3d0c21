"""Measure the shape of the code: `make size` and `make map`."""
