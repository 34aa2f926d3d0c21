"""Which passes are due over which spaces. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingestion.records.passes import Pass
from ingestion.records.types import Run, Synced
from ingestion.types import Extent

LONGEST_PAUSE_SECONDS = 3600.0
"""A pass that fails again and again is tried at least so often, or as often as it is set."""
_EARLIEST = 0.9
_CLAIMED_SHARE = 0.9

Begun = Mapping[tuple[str, Extent], Pass]


@dataclass(frozen=True, slots=True)
class Cadence:
    """Seconds between passes over what changed, and over everything; 0: never."""

    changes: float
    whole: float

    @property
    def never(self) -> bool:
        return not (self.changes or self.whole)


@dataclass(frozen=True, slots=True)
class Due:
    """A pass that is due, unless one began within ``idle_seconds``.

    ``failures`` is how many before it failed in a row.
    """

    space: str
    extent: Extent
    idle_seconds: float
    failures: int


@dataclass(frozen=True, slots=True)
class Next:
    """The pass over a space that comes next, and when at the earliest."""

    extent: Extent
    at: datetime


def upcoming(
    spaces: Sequence[str],
    *,
    begun: Begun,
    failed: Collection[tuple[str, Extent]],
    synced: Mapping[str, Synced],
    cadence: Cadence,
    now: datetime,
) -> Mapping[str, Next]:
    """Return the next pass of each space, by the rules of ``due``; none where none ever is."""
    found: dict[str, Next] = {}
    for space in spaces:
        passes = [
            Next(each.extent, now + timedelta(seconds=max(0.0, each.wait - each.ago)))
            for each in _passes(space, begun, failed, synced.get(space), cadence, now)
        ]
        if passes:
            found[space] = min(passes, key=lambda each: each.at)
    return found


def due(
    spaces: Sequence[str],
    *,
    begun: Begun,
    failed: Collection[tuple[str, Extent]],
    synced: Mapping[str, Synced],
    active: Sequence[Run],
    cadence: Cadence,
    now: datetime,
) -> Sequence[Due]:
    """Return the passes to begin, the longest overdue first.

    A pass over everything looks at what changed, too. A space that a run is over has none due;
    neither has one that is looked at whole by hand. Each space has its own moment a little before
    the interval ends, so that not all are due at once. ``failed`` are the last passes that failed:
    each failure doubles the pause before the next one.
    """
    found: list[tuple[float, Due]] = []
    for space in spaces:
        if any(run.space in {None, space} and not run.page for run in active):
            continue
        found += _first(_of(space, begun, failed, synced.get(space), cadence, now))
    return [each for _, each in sorted(found, key=lambda one: -one[0])]


def _of(
    space: str,
    begun: Begun,
    failed: Collection[tuple[str, Extent]],
    synced: Synced | None,
    cadence: Cadence,
    now: datetime,
) -> Iterator[tuple[float, Due]]:
    """Yield what is due of one space with how overdue it is, the pass over everything first."""
    for each in _passes(space, begun, failed, synced, cadence, now):
        if each.ago >= each.wait:
            due_now = Due(space, each.extent, each.wait * _CLAIMED_SHARE, each.failures)
            yield each.ago / each.wait, due_now


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass that was so many seconds ago, and is due after so many."""

    extent: Extent
    ago: float
    wait: float
    failures: int


def _passes(
    space: str,
    begun: Begun,
    failed: Collection[tuple[str, Extent]],
    synced: Synced | None,
    cadence: Cadence,
    now: datetime,
) -> Iterator[_Pass]:
    """Yield the passes that a space ever has, the one over everything first."""
    whole = _since(begun.get((space, "all")), synced.whole_at if synced else None, now)
    any_pass = min(whole, _since(begun.get((space, "changes")), _looked(synced), now))
    passes: tuple[tuple[Extent, float, float], ...] = (
        ("all", cadence.whole, whole),
        ("changes", cadence.changes, any_pass),
    )
    for extent, every, ago in passes:
        failures = _failures(space, extent, begun, failed)
        if every:
            yield _Pass(extent, ago, _wait(space, every, failures), failures)


def _first(
    found: Iterator[tuple[float, Due]],
) -> Sequence[tuple[float, Due]]:
    return [one] if (one := next(found, None)) is not None else []


def _since(last: Pass | None, read_at: datetime | None, now: datetime) -> float:
    ago = float("inf") if last is None else last.seconds_ago
    return min(ago, float("inf") if read_at is None else (now - read_at).total_seconds())


def _looked(synced: Synced | None) -> datetime | None:
    return None if synced is None else synced.started_at


def _failures(
    space: str, extent: Extent, begun: Begun, failed: Collection[tuple[str, Extent]]
) -> int:
    last = begun.get((space, extent))
    return last.failures + 1 if last is not None and (space, extent) in failed else 0


def _wait(space: str, every: float, failures: int) -> float:
    """Return the pause before the next pass: at most the interval, unless the last ones failed."""
    spread = zlib.crc32(space.encode()) / 2**32
    wait = every * (_EARLIEST + (1 - _EARLIEST) * spread)
    return min(wait * 2.0 ** min(failures, 20), max(LONGEST_PAUSE_SECONDS, wait))
