"""The commands of ``python -m ingestion``, one a file; each returns the exit code."""
