"""How far the spaces of a wiki are, and when they are looked at next; out of the records alone.

Nothing is asked of the wiki: this is for whoever looks often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingestion.records.opening import Records
from ingestion.records.types import Run
from ingestion.schedule import Begun, Cadence

_RUNS = 50


@dataclass(frozen=True, slots=True)
class Trouble:
    """The last run over a space failed; ``why`` is the first of what it met."""

    space: str
    why: str


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a wiki's spaces.

    ``spaces`` were read, or a pass over them was begun. ``looked_at`` is the end of the last pass
    over the space that was looked at longest ago; None before every space was. ``next_at`` is when
    the next pass is due at the latest, a time gone by where nobody begins it; None for never, or
    before the first.
    """

    spaces: tuple[str, ...]
    looked_at: datetime | None
    next_at: datetime | None
    troubles: tuple[Trouble, ...]


async def outlook(records: Records, cadence: Cadence, now: datetime) -> Outlook:
    """Return what the records say. Raises LedgerUnavailable."""
    synced = await records.ledger.synced()
    begun = await records.passes.begun()
    runs = await records.ledger.newest(_RUNS)
    known = {space for space, one in synced.items() if one.watermark}
    spaces = sorted({space for space, _ in begun} | known)
    ends = {space: one.ended_at for space, one in synced.items()}
    looked_at = [ends[space] for space in spaces if space in ends]
    failed = (_failed(space, runs, ends.get(space)) for space in spaces)
    return Outlook(
        spaces=tuple(spaces),
        looked_at=min(looked_at) if looked_at and len(looked_at) == len(spaces) else None,
        next_at=next_pass(begun, cadence, now),
        troubles=tuple(trouble for trouble in failed if trouble is not None),
    )


def next_pass(begun: Begun, cadence: Cadence, now: datetime) -> datetime | None:
    """Return when the first of the passes that come next is due at the latest; None for never."""
    every = {"all": cadence.whole, "changes": cadence.changes}
    due = [
        now + timedelta(seconds=every[extent] - last.seconds_ago)
        for (_, extent), last in begun.items()
        if every.get(extent)
    ]
    return min(due, default=None)


def _failed(space: str, runs: Sequence[Run], ended_at: datetime | None) -> Trouble | None:
    """Return what became of the last run over a space, unless it was read since."""
    last = next((run for run in runs if _is_over(space, run)), None)
    if last is None or (ended_at and last.ended_at and last.ended_at <= ended_at):
        return None
    whole = [one for one in last.failures if one.space == space and not one.page]
    if last.state != "failed" or not (whole or last.space == space):
        return None
    return Trouble(space, whole[0].reason if whole else "its last run failed")


def _is_over(space: str, run: Run) -> bool:
    """Tell whether a run ended that was to bring the space up to date."""
    ended = run.state in {"done", "failed"}
    return ended and run.space in {None, space} and not run.dry_run and not run.page
