"""Record where a run is shown and which process edits its message, to survive kills.

One process edits a message at a time. It says so in the run's note every few seconds; when it
has been silent, another may take the run over. Which one is settled by a note of the take-over
that can be made but once, and the one before, if it was not dead after all, reads in the run's
note that it is no longer its own. So nobody goes on editing what another has ended.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import structlog

from bot.domain.ports import Notes

SILENT_SECONDS = 30.0
"""A process that has not noted itself for so long is taken for dead; clocks may differ a little."""

_ONLY_PROCESS = "local"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunLease:
    """A run that ``user`` ordered in ``channel``, since when (seconds), and where it is shown.

    ``channel`` is where the platform answers the order, ``user`` its name for who ordered.
    ``place`` is the conversation that was chosen for it, ``posted`` its message; "" while there is
    none. ``tries``: so often it was to be posted there, and is not known to be. ``owner`` is the
    process that edits it, "" for none, and ``beat`` when it last said so.
    """

    run_id: str
    user: str
    channel: str
    ordered_at: float
    place: str = ""
    posted: str = ""
    tries: int = 0
    owner: str = ""
    beat: float = 0.0


class RunLeases:
    """Notes on runs that are shown on a platform. Raises StoreUnavailable.

    ``owner`` names this process; a name that is always the same says that it is the only one.
    """

    def __init__(
        self,
        notes: Notes,
        tenant: str,
        owner: str,
        *,
        platform: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._notes = notes
        self._tenant = tenant
        self._key = f"{platform}:reindex:"
        self._taken = f"{platform}:reindex-taken:"
        self._owner = owner
        self._clock = clock

    def now(self) -> float:
        """Return the time, as all processes tell it."""
        return self._clock()

    async def keep(self, shown: RunLease) -> None:
        """Note a run as this process's own."""
        await self._put(replace(shown, owner=self._owner, beat=self._clock()))

    async def release(self, shown: RunLease) -> None:
        """Note that any process may go on with a run at once."""
        await self._put(replace(shown, owner="", beat=self._clock()))

    async def is_ours(self, run_id: str) -> bool:
        """Tell whether a run is still this process's to show."""
        shown = await self._get(run_id)
        return shown is not None and shown.owner == self._owner

    async def end(self, run_id: str) -> None:
        """Forget a run that was shown to its end."""
        await self._notes.remove(self._tenant, f"{self._key}{run_id}")
        for key in await self._notes.beginning(self._tenant, f"{self._taken}{run_id}:"):
            await self._notes.remove(self._tenant, key)

    async def every(self) -> Mapping[str, RunLease]:
        """Return the runs that are being shown, by their ids."""
        texts = await self._notes.beginning(self._tenant, self._key)
        read = (_read(text) for text in texts.values())
        return {shown.run_id: shown for shown in read if shown is not None}

    async def take(self, shown: RunLease) -> bool:
        """Take over a run whose process is gone; False where another has it, or was quicker."""
        if await self._get(shown.run_id) != shown:
            return False
        if shown.owner != self._owner and not await self._is_first(shown):
            return False
        await self.keep(shown)
        return True

    async def _is_first(self, shown: RunLease) -> bool:
        """Tell whether no other process takes over what the one before has left, or lost."""
        now = self._clock()
        if shown.owner and now - shown.beat < SILENT_SECONDS:
            return False
        # Who was quicker and died at once is not waited for longer than any other.
        attempt = int(now // SILENT_SECONDS)
        key = f"{self._taken}{shown.run_id}:{shown.beat:.3f}:{attempt}"
        return await self._notes.first(self._tenant, key)

    async def _get(self, run_id: str) -> RunLease | None:
        return _read(await self._notes.get(self._tenant, f"{self._key}{run_id}"))

    async def _put(self, shown: RunLease) -> None:
        await self._notes.put(self._tenant, f"{self._key}{shown.run_id}", json.dumps(asdict(shown)))


def process_owner(*, alone: bool) -> str:
    """Return a name for this process; ``alone``: the record is its own, so it is the only one."""
    return _ONLY_PROCESS if alone else str(uuid.uuid4())


def _read(text: str | None) -> RunLease | None:
    """Return what a note says; None where there is none, or one of another version."""
    if text is None:
        return None
    try:
        return RunLease(**json.loads(text))
    except (ValueError, TypeError):
        log.warning("orders.run_note_unreadable")
        return None
