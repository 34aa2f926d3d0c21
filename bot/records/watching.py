"""What can change in a conversation while somebody looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.escalations.types import State
from bot.types import InteractionId, Stage, Status, Thread


@dataclass(frozen=True, slots=True)
class Glance:
    """One question as it stands; ``case_state`` is None where no person was asked.

    ``stage`` is the last one that was recorded, None before the first; ``pages`` as in Activity.
    """

    id: InteractionId
    status: Status
    stage: Stage | None = None
    case_state: State | None = None
    case_version: int = 0
    pages: int = 0


class Watches(Protocol):
    """A conversation at a glance, cheap enough to be looked at again and again."""

    async def thread(self, thread: Thread, limit: int) -> Sequence[Glance]:
        """Return the last questions of a thread, withdrawn ones too, oldest first.

        Raises bot.errors.StoreUnavailable.
        """
        ...
