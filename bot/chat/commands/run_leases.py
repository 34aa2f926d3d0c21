"""Record where a run is shown and which process edits its message, to survive kills.

One process edits a message at a time. It writes a heartbeat to the run's note every few seconds;
when the heartbeat is too old, another process may take the run over. A take-over note that can be
created only once decides between several; if the previous owner is alive after all, it reads in the
run's note that it lost the lease. So nobody edits a message that another process has finished.
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
"""A process without a heartbeat for this long counts as dead; clocks may differ a little."""

_ONLY_PROCESS = "local"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunLease:
    """A run's message: who ordered the run, where and when (seconds), and which process edits it.

    ``channel`` is where the platform answers the command, ``user`` the platform's id of the caller.
    ``place`` is the conversation chosen for the message, ``posted`` the message's id; "" if none
    yet. ``tries`` counts attempts to post with unknown result. ``owner`` is the process that edits
    the message, "" for none, and ``beat`` its last heartbeat.
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
    """Store of the leases of runs shown on one platform. Raises StoreUnavailable.

    ``owner`` is this process's name; a constant name means that it is the only process.
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
        """Return the current time on the clock shared by all processes."""
        return self._clock()

    async def keep(self, lease: RunLease) -> None:
        """Store a lease as owned by this process, with a new heartbeat."""
        await self._put(replace(lease, owner=self._owner, beat=self._clock()))

    async def release(self, lease: RunLease) -> None:
        """Release a lease, so that any process may take it at once."""
        await self._put(replace(lease, owner="", beat=self._clock()))

    async def is_ours(self, run_id: str) -> bool:
        """Return whether this process still owns a run's lease."""
        lease = await self._get(run_id)
        return lease is not None and lease.owner == self._owner

    async def end(self, run_id: str) -> None:
        """Delete the lease of a run that was shown to its end."""
        await self._notes.remove(self._tenant, f"{self._key}{run_id}")
        for key in await self._notes.beginning(self._tenant, f"{self._taken}{run_id}:"):
            await self._notes.remove(self._tenant, key)

    async def every(self) -> Mapping[str, RunLease]:
        """Return all leases by run id."""
        texts = await self._notes.beginning(self._tenant, self._key)
        read = (_read(text) for text in texts.values())
        return {lease.run_id: lease for lease in read if lease is not None}

    async def take(self, lease: RunLease) -> bool:
        """Take over the lease of a dead owner; False if it is owned, or another was first."""
        if await self._get(lease.run_id) != lease:
            return False
        if lease.owner != self._owner and not await self._is_first(lease):
            return False
        await self.keep(lease)
        return True

    async def _is_first(self, lease: RunLease) -> bool:
        """Return whether this process is the first to take over an expired or released lease."""
        now = self._clock()
        if lease.owner and now - lease.beat < SILENT_SECONDS:
            return False
        # Who was quicker and died at once is not waited for longer than any other.
        attempt = int(now // SILENT_SECONDS)
        key = f"{self._taken}{lease.run_id}:{lease.beat:.3f}:{attempt}"
        return await self._notes.first(self._tenant, key)

    async def _get(self, run_id: str) -> RunLease | None:
        return _read(await self._notes.get(self._tenant, f"{self._key}{run_id}"))

    async def _put(self, lease: RunLease) -> None:
        await self._notes.put(self._tenant, f"{self._key}{lease.run_id}", json.dumps(asdict(lease)))


def process_owner(*, alone: bool) -> str:
    """Return a name for this process; ``alone``: no other process uses the record."""
    return _ONLY_PROCESS if alone else str(uuid.uuid4())


def _read(text: str | None) -> RunLease | None:
    """Parse a note; None if there is none, or another version wrote it."""
    if text is None:
        return None
    try:
        return RunLease(**json.loads(text))
    except (ValueError, TypeError):
        log.warning("orders.run_note_unreadable")
        return None
