"""Commands of a chat: parsing, permissions, reindex runs, channel settings, status and help."""
