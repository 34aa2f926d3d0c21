"""The store: interactions, conversations, escalations and policies in SQLite or PostgreSQL."""

from bot.store.database import (
    Store,
    database_url,
    open_store,
    prepare,
    reminders_of,
    sqlite_url,
    unopened,
)

__all__ = [
    "Store",
    "database_url",
    "open_store",
    "prepare",
    "reminders_of",
    "sqlite_url",
    "unopened",
]
