"""The index in one SQLite file: full text and vectors, written together, searched together."""
