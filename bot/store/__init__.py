"""What is kept: interactions, conversations, progress, feedback."""

from bot.store.store import Store, open_store, sqlite_url

__all__ = ["Store", "open_store", "sqlite_url"]
