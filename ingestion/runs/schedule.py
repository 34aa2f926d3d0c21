"""Determine which passes over which spaces are due, start them, and report how current spaces are.

Determining them is pure. Each pass is started by one of several replicas. The report is made from
the records alone, without a request to the wiki, so that it may be made often.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from ingestion.errors import DocumentRefused, SourceUnavailable
from ingestion.records.ledger import Pass, Records
from ingestion.records.types import Run, Synced
from ingestion.runs.background import Runs
from ingestion.runs.tracking import BY_SCHEDULE
from ingestion.types import Extent

LONGEST_PAUSE_SECONDS = 3600.0
"""Longest pause after repeated failures, unless the configured interval is longer."""
_EARLIEST = 0.9
_CLAIMED_SHARE = 0.9

Begun = Mapping[tuple[str, Extent], Pass]


@dataclass(frozen=True, slots=True)
class Cadence:
    """Seconds between passes over changes, and over everything; 0: never."""

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
    """The next pass over a space, and its earliest time."""

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
    """Return the next pass of each space, by the rules of ``due``; none where none is scheduled."""
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
    """Return the passes to start, the longest overdue first.

    A pass over everything includes the changes. A space with an active run has none due; nor has
    one that is being read whole on request. Each space has its own offset a little before the
    interval ends, so that not all are due at once. ``failed`` are the last passes that failed: each
    failure doubles the pause before the next one.
    """
    found: list[tuple[float, Due]] = []
    for space in spaces:
        if any(run.space in {None, space} and not run.page for run in active):
            continue
        passes = _passes(space, begun, failed, synced.get(space), cadence, now)
        first = next((each for each in passes if each.ago >= each.wait), None)
        if first is not None:
            idle_seconds = first.wait * _CLAIMED_SHARE
            due_now = Due(space, first.extent, idle_seconds, first.failures)
            found.append((first.ago / first.wait, due_now))
    return [each for _, each in sorted(found, key=lambda one: -one[0])]


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass with its age in seconds, and the age at which the next is due."""

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
    """Yield the scheduled passes of a space, the one over everything first."""
    whole_at, started_at = (synced.whole_at, synced.started_at) if synced else (None, None)
    whole = _seconds_since(begun.get((space, "all")), whole_at, now)
    any_pass = min(whole, _seconds_since(begun.get((space, "changes")), started_at, now))
    passes: tuple[tuple[Extent, float, float], ...] = (
        ("all", cadence.whole, whole),
        ("changes", cadence.changes, any_pass),
    )
    for extent, every, ago in passes:
        failures = _failures(space, extent, begun, failed)
        if every:
            yield _Pass(extent, ago, _pause_seconds(space, every, failures), failures)


def _seconds_since(last: Pass | None, read_at: datetime | None, now: datetime) -> float:
    ago = float("inf") if last is None else last.seconds_ago
    return min(ago, float("inf") if read_at is None else (now - read_at).total_seconds())


def _failures(
    space: str, extent: Extent, begun: Begun, failed: Collection[tuple[str, Extent]]
) -> int:
    last = begun.get((space, extent))
    return last.failures + 1 if last is not None and (space, extent) in failed else 0


def _pause_seconds(space: str, every: float, failures: int) -> float:
    """Return the pause before the next pass: at most the interval, unless the last ones failed."""
    spread = zlib.crc32(space.encode()) / 2**32
    wait = every * (_EARLIEST + (1 - _EARLIEST) * spread)
    return min(wait * 2.0 ** min(failures, 20), max(LONGEST_PAUSE_SECONDS, wait))


log = structlog.get_logger(__name__)

_LOOKED_AT = 200
_MOST_AT_ONCE = 8
"""Limit of scheduled runs that wait or work at a time, over all replicas."""


class Scheduler:
    """Starts due passes; the server calls ``begin_due`` periodically.

    Args:
        runs: Starts a run.
        records: When passes began, and their outcome.
        spaces: Returns the spaces read by schedule. Raises SourceUnavailable.
        cadence: The intervals.
    """

    def __init__(
        self,
        runs: Runs,
        records: Records,
        spaces: Callable[[], Awaitable[Sequence[str]]],
        cadence: Cadence,
    ) -> None:
        self._runs = runs
        self._records = records
        self._spaces = spaces
        self._cadence = cadence
        self.trouble = ""
        """Why the list of spaces is unavailable, or ""."""
        self.known: tuple[str, ...] | None = None
        """The spaces as last listed."""

    async def begin_due(self) -> Sequence[str]:
        """Start due passes; return the runs.

        Raises SourceUnavailable, LedgerUnavailable: the next call tries again.
        """
        if self._cadence.never:
            return ()
        active = await self._records.ledger.active()
        places = _MOST_AT_ONCE - sum(run.by == BY_SCHEDULE for run in active)
        begun: list[str] = []
        for each in await self._due():
            if len(begun) >= places:
                break
            run = await self._begin(each)
            begun += [run] if run else []
        return begun

    async def next_passes(self) -> Mapping[str, Next]:
        """Return the next pass over each space. Raises SourceUnavailable, LedgerUnavailable."""
        if self._cadence.never:
            return {}
        passes = await self._records.passes.begun()
        newest = await self._records.ledger.newest(_LOOKED_AT)
        broken = {run.id for run in newest if run.state == "failed"}
        return upcoming(
            await self._spaces(),
            begun=passes,
            failed=[key for key, each in passes.items() if each.run in broken],
            synced=await self._records.ledger.synced(),
            cadence=self._cadence,
            now=datetime.now(UTC),
        )

    async def _due(self) -> Sequence[Due]:
        passes = await self._records.passes.begun()
        find = partial(
            due,
            await self._known_spaces(),
            begun=passes,
            synced=await self._records.ledger.synced(),
            active=await self._records.ledger.active(),
            cadence=self._cadence,
            now=datetime.now(UTC),
        )
        over: list[tuple[str, Extent]] = [(one.space, one.extent) for one in find(failed=())]
        failed = [each for each in over if each in passes and await self._failed(passes[each].run)]
        return find(failed=failed)

    async def _known_spaces(self) -> Sequence[str]:
        try:
            spaces = await self._spaces()
        except SourceUnavailable as error:
            self.trouble = str(error)
            raise
        self.trouble, self.known = "", tuple(spaces)
        return spaces

    async def _failed(self, run_id: str) -> bool:
        run = await self._records.ledger.get(run_id) if run_id else None
        return run is not None and run.state == "failed"

    async def _begin(self, each: Due) -> str | None:
        passes = self._records.passes
        if not await passes.claim(
            each.space, each.extent, idle_seconds=each.idle_seconds, failures=each.failures
        ):
            return None
        try:
            run = await self._runs.start(each.space, by=BY_SCHEDULE, extent=each.extent)
        except (DocumentRefused, SourceUnavailable) as error:
            log.warning("schedule.not_begun", space=each.space, why=str(error))
            return None
        await passes.note_run(each.space, each.extent, run)
        return run


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
