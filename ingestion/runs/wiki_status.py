"""Report how current a wiki's spaces are and when each is read next, from the records alone.

Sends no request to the wiki, so it may be called often.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingestion.records.assembly import Records
from ingestion.records.types import Run
from ingestion.runs.schedule import Cadence, upcoming

_RUNS = 50


@dataclass(frozen=True, slots=True)
class LastFailure:
    """A failed last run over a space; ``why`` is its first failure."""

    space: str
    why: str


@dataclass(frozen=True, slots=True)
class WikiStatus:
    """The status of a wiki's spaces.

    ``looked_at`` is the end of the last pass over the least recently read space; None until every
    space was read. ``next_at`` is the earliest time of the next pass; None for never, or where no
    space is known.
    """

    spaces: tuple[str, ...]
    looked_at: datetime | None
    next_at: datetime | None
    troubles: tuple[LastFailure, ...]


async def wiki_status(
    records: Records, cadence: Cadence, now: datetime, spaces: Collection[str] | None = None
) -> WikiStatus:
    """Return the recorded status of ``spaces``; None: of all that were ever read.

    Raises LedgerUnavailable.
    """
    synced = await records.ledger.synced()
    begun = await records.passes.begun()
    runs = await records.ledger.newest(_RUNS)
    known = {space for space, one in synced.items() if one.watermark}
    known = {space for space, _ in begun} | known if spaces is None else set(spaces)
    ends = {space: synced[space].ended_at for space in known & synced.keys()}
    failed = [_last_failure(space, runs, ends.get(space)) for space in sorted(known)]
    broken = {run.id for run in runs if run.state == "failed"}
    coming = upcoming(
        sorted(known),
        begun=begun,
        failed=[key for key, each in begun.items() if each.run in broken],
        synced=synced,
        cadence=cadence,
        now=now,
    )
    return WikiStatus(
        spaces=tuple(sorted(known)),
        looked_at=min(ends.values()) if known and known == ends.keys() else None,
        next_at=min((each.at for each in coming.values()), default=None),
        troubles=tuple(trouble for trouble in failed if trouble is not None),
    )


def _last_failure(space: str, runs: Sequence[Run], ended_at: datetime | None) -> LastFailure | None:
    """Return the failure of the last run over a space, unless it was synced since."""
    last = next((run for run in runs if _ended_run_of(space, run)), None)
    if last is None or (ended_at and last.ended_at and last.ended_at <= ended_at):
        return None
    whole = [one for one in last.failures if one.space == space and not one.page]
    if last.state != "failed" or not (whole or last.space == space):
        return None
    return LastFailure(space, whole[0].reason if whole else "its last run failed")


def _ended_run_of(space: str, run: Run) -> bool:
    """Return whether a run that was to sync the space has ended."""
    ended = run.state in {"done", "failed"}
    return ended and run.space in {None, space} and not run.dry_run and not run.page
