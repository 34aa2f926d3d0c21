"""The commands of ``python -m ingestion``; each returns the exit code."""
