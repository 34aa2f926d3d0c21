"""What the working pages of the board need of the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.domain.types import Feedback, Interaction, InteractionId, Thread


class Record(Protocol):
    """What was asked and what hangs on it. Raises bot.domain.errors.StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...

    async def in_thread(
        self, thread: Thread, limit: int, before: int | None = None
    ) -> Sequence[Interaction]:
        """Return the last interactions of a thread, or those before a number, oldest first."""
        ...
