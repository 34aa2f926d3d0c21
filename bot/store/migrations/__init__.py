"""The schema's history, applied at the start when the schema is not current."""

HEAD = "0006"
"""The last revision; a test holds it against the revisions there are."""
