"""Which colleague is whom in Confluence, and in which groups there."""
