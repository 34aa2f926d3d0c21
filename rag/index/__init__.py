"""Implementations of the Index port."""
