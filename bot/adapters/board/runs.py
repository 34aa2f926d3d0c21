"""Runs over the index in a colleague's words; pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot.documents.documents import Run

_MINUTES = 120
"""From so many on hours are told."""

SOURCES: Mapping[str, str] = {
    "upload": "Uploaded documents",
    "folder": "A folder of files",
    "confluence": "Confluence",
}
_ENDED: Mapping[str, str] = {
    "failed": "Stopped by a problem",
    "cancelled": "Cancelled; what was written stays",
    "interrupted": "Interrupted; the next start goes on with it",
}


def source(kind: str) -> str:
    """Return what fills a space, in words."""
    return SOURCES.get(kind, kind or "Not known")


def over(run: Run) -> str:
    """Return what a run is over."""
    return run.space or "All spaces"


def standing(run: Run) -> str:
    """Return how far a run is, or how it ended."""
    match run.state:
        case "waiting":
            return "Waits for its turn"
        case "running":
            return _progress(run)
        case "done":
            return _report(run)
        case _:
            return _ENDED[run.state]


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _progress(run: Run) -> str:
    place = f"{run.at_space}: " if run.space is None and run.at_space else ""
    if not run.total:
        return f"{place}Looking for what changed \u2026"
    parts = [f"{run.pages:,} of {counted(run.total, 'page')}", counted(run.chunks, "passage")]
    if run.chunks_per_second >= 1:
        parts.append(f"{run.chunks_per_second:.0f} a second")
    if run.remaining_seconds is not None:
        parts.append(f"{_about(run.remaining_seconds)} left")
    return place + ", ".join(parts)


def _about(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < _MINUTES else f"about {minutes / 60:.1f} h"


def _report(run: Run) -> str:
    changes = [
        f"{count:,} {what}"
        for count, what in (
            (run.added, "added"),
            (run.changed, "changed"),
            (run.removed, "removed"),
            (run.readers_changed, "with new readers"),
            (run.failed, "could not be read"),
        )
        if count
    ]
    if not changes:
        return f"Nothing to do: {counted(run.unchanged, 'page')} up to date"
    told = ", ".join(changes)
    return f"A real run would find: {told}" if run.dry_run else f"Done: {told}"
