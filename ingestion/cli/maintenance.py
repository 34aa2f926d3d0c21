"""Show runs and spaces, cancel runs, forget spaces, and diagnose Confluence.

The commands ``status``, ``cancel``, ``spaces``, ``forget`` and ``doctor``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime

from ingestion.cli import FAILED, REFUSED, open_index, open_records
from ingestion.config import Settings
from ingestion.records.types import Run, Synced
from ingestion.runs.source_registry import diagnose_wiki
from ingestion.uploads import Uploads
from rag.types import Check, Page

_SHOWN = 20


async def show_status(_options: argparse.Namespace, settings: Settings) -> int:
    """Print active and recent runs, and when each space was last synced."""
    with open_records(settings) as records:
        active = await records.ledger.active()
        ended = [run for run in await records.ledger.newest(_SHOWN) if not run.active]
        synced = await records.ledger.synced()
    lines = [
        *_section("Under way", [_running_line(run) for run in active]),
        *_section("Spaces", _synced_lines(synced)),
        *_section("Last runs", [_ended_line(run) for run in ended]),
    ]
    print("\n".join(lines) or "Nothing was read yet. Begin: python -m ingestion sync --all")
    return 0


async def cancel_runs(options: argparse.Namespace, settings: Settings) -> int:
    """Request cancellation of a run, by its id or its space."""
    with open_records(settings) as records:
        active = await records.ledger.active()
        meant = [run for run in active if options.target in {run.id, run.space or "all"}]
        for run in meant:
            await records.ledger.cancel(run.id)
            scope = _scope_text(run)
            print(f"The run {run.id} over {scope} is being stopped. What was written stays.")
    if not meant:
        print(f"No run is under way over {options.target!r}, nor has this id.", file=sys.stderr)
        return REFUSED
    return 0


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _running_line(run: Run) -> str:
    left = run.remaining_seconds
    told = [
        f"{run.state}, {run.pages} of {run.total} pages",
        f"{run.chunks} chunks, {run.chunks_per_second:.0f} chunks/s",
        f"{run.failed} failed",
    ]
    if left is not None:
        told.append(f"{round(left) // 60}:{round(left) % 60:02d} left")
    return f"{run.id} {_scope_text(run)}, by {run.by}: {', '.join(told)}{_embedding(run)}"


def _ended_line(run: Run) -> str:
    counts = (
        f"{run.added} added, {run.changed} changed, {run.removed} removed, "
        f"{run.readers_changed} with new readers, {run.failed} failed"
    )
    held = " It held back: too much was gone." if any(w.mass_delete for w in run.failures) else ""
    dry = ", dry run" if run.dry_run else ""
    when = _formatted_time(run.ended_at or run.created_at)
    scope, use = _scope_text(run), _embedding(run)
    return f"{when} {scope}{dry}, by {run.by}: {run.state}; {counts}.{held}{use}"


def _embedding(run: Run) -> str:
    return f" {run.embedding}" if run.embedding else ""


def _synced_lines(synced: Mapping[str, Synced]) -> list[str]:
    return [
        f"{space}: looked at {_formatted_time(one.ended_at)}, whole "
        f"{_formatted_time(one.whole_at or one.started_at)}; {len(one.failures)} failures"
        for space, one in sorted(synced.items())
    ]


def _scope_text(run: Run) -> str:
    if run.page:
        return f"page {run.page} of {run.space}"
    what = "all spaces" if run.space is None else run.space
    return f"changes of {what}" if run.extent == "changes" else what


def _formatted_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


async def list_spaces(_options: argparse.Namespace, settings: Settings) -> int:
    """Print each space with its pages and chunks."""
    async with open_index(settings, None) as index:
        spaces = await index.spaces(settings.tenant)
        for space, chunks in sorted(spaces.items()):
            pages = await index.pages(settings.tenant, space)
            print(f"{space}: {len(pages)} pages, {chunks} chunks")
    if not spaces:
        print("Nothing is indexed. Add a folder: python -m ingestion folder PATH --space KEY")
    return 0


async def forget_space(options: argparse.Namespace, settings: Settings) -> int:
    """Remove a space from the index, including its uploaded documents."""
    async with open_index(settings, None) as index:
        pages = await index.pages(settings.tenant, options.space)
        uploads = Uploads(settings.data_dir, settings.tenant)
        if not pages and not uploads.has(options.space):
            print(f"Space {options.space!r} is not indexed.", file=sys.stderr)
            return REFUSED
        is_of_the_wiki = _is_of_the_wiki(options.space, settings, pages)
        if not options.yes:
            if is_of_the_wiki:
                print(_returns_line(options.space), file=sys.stderr)
            print(_deletion_lines(options.space, len(pages)), file=sys.stderr)
            return REFUSED
        with open_records(settings) as records:
            async with records.leases.held(options.space):
                uploads.forget(options.space)
                await records.ledger.forget(options.space)
                await records.passes.forget(options.space)
                removed = await index.delete_pages(settings.tenant, options.space, list(pages))
    print(f"Removed {removed} pages of space {options.space!r}.")
    if is_of_the_wiki:
        print(_returns_line(options.space))
    return 0


def _is_of_the_wiki(space: str, settings: Settings, pages: Mapping[str, Page]) -> bool:
    """Return whether the next pass over the wiki would index the space again."""
    if not settings.confluence_configured or space in settings.confluence_skip_spaces:
        return False
    if settings.confluence_spaces:
        return space in settings.confluence_spaces
    # Confluence page ids are numbers; file names have an extension.
    return any(page.partition("/")[0].isdigit() for page in pages)


def _deletion_lines(space: str, pages: int) -> str:
    return (
        f"This removes {pages} pages of space {space!r} from the index, and what was uploaded into "
        "it. Run again with --yes to do it."
    )


def _returns_line(space: str) -> str:
    return (
        f"{space} is a space of Confluence: the next pass reads it again, unless "
        "CONFLUENCE_SKIP_SPACES names it."
    )


_SIGNS = {True: "+", None: "~", False: "!"}


async def diagnose(_options: argparse.Namespace, settings: Settings) -> int:
    """Print one line per check; return FAILED when something is broken."""
    checks = await diagnose_wiki(settings)
    if not checks:
        print("  - Confluence is not configured. Set CONFLUENCE_URL and CONFLUENCE_TOKEN.")
        return 0
    print("\n".join(map(_check_line, checks)))
    broken = [check for check in checks if check.works is False]
    wanting = [check for check in checks if check.works is None]
    if broken:
        print(f"\nBroken: {_check_name(broken)}.")
    elif wanting:
        print(f"\nNothing is broken. See: {_check_name(wanting)}.")
    else:
        print("\nAll of it works.")
    return FAILED if broken else 0


def _check_line(check: Check) -> str:
    return f"  {_SIGNS[check.works]} {check.name or 'Confluence':<16} {check.detail}"


def _check_name(checks: Sequence[Check]) -> str:
    return ", ".join(check.name or "Confluence" for check in checks)
