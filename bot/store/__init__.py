"""What is kept: interactions, conversations, progress, feedback."""

from bot.store.store import (
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
