"""Runs over the index in a colleague's words; pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot.documents.documents import Run
from bot.orders.progress import changes, pace
from bot.orders.telling import told_of
from bot.rendering.amounts import counted

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


def _progress(run: Run) -> str:
    place = f"{run.at_space}: " if run.space is None and run.at_space else ""
    if not run.total:
        return f"{place}Looking for what changed \u2026"
    told = told_of(run.id, (run,))
    left = f", {told.remaining} left" if told.remaining else ""
    return f"{place}{pace(told)}{left}"


def _report(run: Run) -> str:
    unread = (f"{run.failed:,} could not be read",) if run.failed else ()
    found = (*changes(told_of(run.id, (run,))), *unread)
    if not found:
        return f"Nothing to do: {counted(run.unchanged, 'page')} up to date"
    listed = ", ".join(found)
    return f"A real run would find: {listed}" if run.dry_run else f"Done: {listed}"
