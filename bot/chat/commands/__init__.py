"""Commands of a chat: parsing, permission, reindex runs, channel settings, status and help."""
