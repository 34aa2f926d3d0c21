"""Implement the index in one SQLite file: full text and vectors, written and searched together."""
