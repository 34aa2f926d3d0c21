"""What is kept: interactions, conversations, progress, feedback."""

from bot.store.store import (
    Store,
    database_url,
    open_store,
    prepare,
    sqlite_url,
    unopened,
)

__all__ = ["Store", "database_url", "open_store", "prepare", "sqlite_url", "unopened"]
