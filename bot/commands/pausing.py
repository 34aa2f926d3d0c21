"""Pauses answering for everyone, and resumes it; both hold at once in every running process."""

from __future__ import annotations

import getpass

from bot.domain.settings import Settings
from bot.store.store import database_url, open_store


async def pause(settings: Settings, *, reason: str, by: str | None = None) -> int:
    """Stop answering; who asks is told the reason. During a pause, change the reason."""
    store = await open_store(database_url(settings))
    try:
        paused = await store.pauses.pause(settings.tenant, reason, by or operator())
    finally:
        await store.close()
    since = paused.since.strftime("%Y-%m-%d %H:%M UTC")
    print(f"Paused since {since}. Who asks is told: {paused.reason}")
    print("Answer again: python -m bot resume")
    return 0


async def resume(settings: Settings, *, by: str | None = None) -> int:
    """Answer again. What was asked during the pause stays unanswered."""
    store = await open_store(database_url(settings))
    try:
        lifted = await store.pauses.resume(settings.tenant, by or operator())
    finally:
        await store.close()
    print("Questions are answered again." if lifted else "It was not paused.")
    return 0


def operator() -> str:
    """Return who runs the command, as the system knows them: ``cli:NAME``."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        # A container's user may have a number and no name.
        return "cli"
