"""The threads below the cards of cases: what is written there is no question for people."""

from __future__ import annotations

from bot.ports import Notes
from bot.types import InteractionId, PostedRef, Thread

UNREAD = "Use Reply: this thread isn't read."
"""What a card says as long as it can be replied to."""

USE_REPLY = (
    "Use Reply on the question above: this thread isn't read, so nobody was told what you wrote."
)
"""What somebody is told who mentions the bot below a card."""


async def note_card(
    notes: Notes, platform: str, tenant: str, case_id: InteractionId, at: PostedRef
) -> None:
    """Note that a thread is a card's, for all processes. Raises StoreUnavailable."""
    if at.id:
        thread = Thread(platform, tenant, at.channel, at.id)
        await notes.put(tenant, _key(thread), case_id, interaction_id=case_id)


async def is_card_thread(notes: Notes, thread: Thread) -> bool:
    """Tell whether a thread is below the card of a case. Raises StoreUnavailable."""
    return await notes.get(thread.tenant, _key(thread)) is not None


def _key(thread: Thread) -> str:
    return f"{thread.platform}:card-thread:{thread.channel}:{thread.id}"
