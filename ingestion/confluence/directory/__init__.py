"""Map colleagues to their Confluence accounts and groups."""
