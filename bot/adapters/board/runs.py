"""Runs over the index in a colleague's words; pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from bot.chat.commands import run_progress
from bot.chat.commands.run_progress import change_counts, pace
from bot.chat.commands.run_status import run_status_of
from bot.chat.documents import NextPass, Run
from bot.domain.text.formatting import counted, rough_duration
from bot.domain.users import short_actor_name

SOURCES: Mapping[str, str] = {
    "upload": "Uploaded documents",
    "folder": "A folder of files",
    "confluence": "Confluence",
}
_OWN: Mapping[str, str] = {"schedule": "by schedule", "start": "after an interruption"}
_NEXT: Mapping[str, str] = {
    "all": "every page is looked at",
    "changes": "what changed is looked at",
    "page": "one page is looked at",
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
    named = run_progress.run_scope(run)
    # A space is called as it is written.
    return named if named == run.space else f"{named[:1].upper()}{named[1:]}"


def began(run: Run, names: Mapping[str, str], *, named: bool) -> str:
    """Return who began a run; people only where ``named``, by ``names`` where these know them."""
    if run.by in _OWN:
        return _OWN[run.by]
    return f"by {short_actor_name(run.by, names)}" if named else ""


def upcoming(each: NextPass | None, now: datetime) -> str:
    """Return what the schedule does next, "" for nothing."""
    if each is None:
        return ""
    seconds = (each.at - now).total_seconds()
    when = f"in {rough_duration(seconds)}" if seconds > 0 else "now"
    return f"{_NEXT[each.extent]} {when}"


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
    told = run_status_of(run.id, (run,))
    left = f", {told.remaining} left" if told.remaining else ""
    return f"{place}{pace(told)}{left}"


def _report(run: Run) -> str:
    unread = (f"{run.failed:,} could not be read",) if run.failed else ()
    found = (*change_counts(run_status_of(run.id, (run,))), *unread)
    if not found:
        return f"Nothing to do: {counted(run.unchanged, 'page')} up to date"
    listed = ", ".join(found)
    return f"A real run would find: {listed}" if run.dry_run else f"Done: {listed}"
