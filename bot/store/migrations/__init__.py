"""Alembic migrations of the schema, applied at start-up if it is not current."""

HEAD = "0014"
"""The last revision; a test compares it with the revision files."""
