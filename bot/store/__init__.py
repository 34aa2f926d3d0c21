"""The store: interactions, conversations, escalations and policies in SQLite or PostgreSQL."""
