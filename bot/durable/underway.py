"""What this process works on now, and who waits for it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.domain.types import Interaction, InteractionId, Outcome

GRACE_SECONDS = 15.0


@dataclass(slots=True)
class Entry:
    """One interaction. ``opened`` is what was just recorded, until the work takes it.

    ``full`` says that the asker is told to come back later; ``due_at`` (monotonic) is when the
    engine should have run it, at the latest. ``kept`` is set when it is in the record, or ``lost``
    because it could not be written; ``settled`` when there is an outcome or there will be none
    here.
    """

    due_at: float
    opened: Interaction | None = None
    full: bool = False
    lost: bool = False
    outcome: Outcome | None = None
    kept: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Runs:
    """Who works on an interaction, and how many wait for that."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    count: int = 0


class Underway:
    """The entries of one process."""

    def __init__(self) -> None:
        self._entries: dict[InteractionId, Entry] = {}
        self._runs: dict[InteractionId, _Runs] = {}
        self._sleeping: set[InteractionId] = set()

    @asynccontextmanager
    async def alone(self, interaction_id: InteractionId) -> AsyncIterator[None]:
        """Let one run at a time work on an interaction, whatever becomes of its entry.

        The engine may begin the same work twice, and a claim does not keep a process from itself.
        """
        runs = self._runs.setdefault(interaction_id, _Runs())
        runs.count += 1
        try:
            async with runs.turn:
                yield
        finally:
            runs.count -= 1
            if not runs.count:
                del self._runs[interaction_id]

    @property
    def busy(self) -> int:
        """How many are not finished; those that wait for a platform don't count."""
        return len(self._entries) - len(self._sleeping)

    def get(self, interaction_id: InteractionId) -> Entry | None:
        return self._entries.get(interaction_id)

    def enter(self, interaction_id: InteractionId) -> Entry:
        """Return the entry of an interaction, a new one if there is none."""
        due_at = time.monotonic() + GRACE_SECONDS
        return self._entries.setdefault(interaction_id, Entry(due_at))

    async def keeps(self, interaction_id: InteractionId) -> bool:
        """Tell whether an interaction is under way, and wait until it is in the record."""
        while (entry := self._entries.get(interaction_id)) is not None:
            await entry.kept.wait()
            if not entry.lost:
                return True
        return False

    def wake(self, interaction_id: InteractionId) -> None:
        """Note that an entry is worked on; the engine owes nothing until the work ends."""
        self._sleeping.discard(interaction_id)
        self._entries[interaction_id].due_at = math.inf

    def sleep(self, interaction_id: InteractionId, seconds: float) -> None:
        """Note that an entry waits for a platform, and when the engine should run it again.

        Its outcome is in the record; a platform that is away for long would fill the memory.
        """
        entry = self._entries.get(interaction_id)
        if entry is not None:
            self._sleeping.add(interaction_id)
            entry.outcome, entry.due_at = None, time.monotonic() + seconds + GRACE_SECONDS

    def overdue(self, interaction_id: InteractionId) -> bool:
        """Tell whether the engine forgot about an entry, or there is none."""
        entry = self._entries.get(interaction_id)
        return entry is None or entry.due_at < time.monotonic()

    def forget_all_but(self, unfinished: Collection[InteractionId]) -> None:
        """Forget overdue entries of which the record says that nothing is left to do."""
        overdue = [each for each in self._entries if self.overdue(each)]
        for each in overdue:
            if each not in unfinished:
                self.leave(each)

    def settle(self, interaction_id: InteractionId, outcome: Outcome) -> None:
        """Tell those who wait what became of a message."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.outcome = outcome
            entry.settled.set()

    def unsettle(self, interaction_id: InteractionId) -> None:
        """Forget an outcome that was withdrawn; who asks for it looks into the record."""
        entry = self._entries.get(interaction_id)
        if entry is not None:
            entry.outcome = None

    def release(self) -> None:
        """Let those who wait for an outcome look into the record; there will be none here."""
        for entry in self._entries.values():
            entry.settled.set()

    def leave(self, interaction_id: InteractionId) -> None:
        """Forget an entry; who still waits looks into the record."""
        entry = self._entries.pop(interaction_id, None)
        self._sleeping.discard(interaction_id)
        if entry is not None:
            entry.lost = not entry.kept.is_set()
            entry.kept.set()
            entry.settled.set()
