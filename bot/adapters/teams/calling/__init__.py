"""Calls of Teams' connector, each in its time."""
