"""Lists the questions that wait for a person."""

from __future__ import annotations

from bot.config import Settings
from bot.store import open_store, sqlite_url
from bot.types import Escalation, Interaction


async def escalations(settings: Settings, *, limit: int) -> int:
    """Print what was handed over among the last ``limit`` answered messages, oldest first."""
    store = await open_store(sqlite_url(settings.data_dir))
    try:
        recorded = await store.interactions.answered(settings.tenant, limit)
    finally:
        await store.close()
    waiting = [line for interaction in recorded if (line := _line(interaction))]
    print("\n".join(waiting) if waiting else "Nothing waits for a person.")
    return 0


def _line(interaction: Interaction) -> str | None:
    """Return a line for a hand-over that was agreed to; one only offered is none."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Escalation):
        return None
    if outcome.response.consent_needed:
        return None
    when = interaction.created_at.strftime("%Y-%m-%d %H:%M")
    thread = interaction.message.thread
    question = " ".join(outcome.response.question.split())
    return f"{when}  {thread.platform:<6} {outcome.response.reason:<16} {question[:160]}"
