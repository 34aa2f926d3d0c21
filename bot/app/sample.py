"""The sample company: indexed for newcomers, gone once there are pages of one's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bot.domain.settings import Settings
from bot.parts import Parts
from ingestion.records.assembly import records_of
from ingestion.runs.source_registry import remember_folder
from ingestion.sync.report import progress_on, report_lines
from ingestion.sync.sync import Folder, sync_folder

SAMPLE = Path(__file__).parents[2] / "infra" / "sample"
SAMPLE_SPACES = {"SAMPLE-IT": "it", "SAMPLE-HR": "hr"}


async def reindex_sample(settings: Settings, parts: Parts) -> Sequence[str]:
    """Bring the sample company's pages up to date; once there are others, remove them.

    An invented company's rules must not answer real colleagues.
    """
    if settings.embedding_model and parts.embedder is None:
        # Written without vectors, all of it would have to be written again.
        return [f"The sample company is left as it is: {parts.embedder_trouble}"]
    indexed = set(await parts.index.spaces(settings.tenant))
    own = sorted(indexed - set(SAMPLE_SPACES))
    if own:
        return await _forget_sample(settings, parts, own)
    lines: list[str] = []
    for key, name in SAMPLE_SPACES.items():
        lines += await _sync(settings, parts, Folder(SAMPLE / name, key))
    return [line for line in lines if line.startswith(("Space", "Failed", "Warning"))]


async def _sync(settings: Settings, parts: Parts, folder: Folder) -> Sequence[str]:
    begun = datetime.now(UTC)
    report = await sync_folder(
        folder,
        parts.index,
        parts.embedder,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        progress=progress_on(sys.stderr),
    )
    await remember_folder(records_of(settings).ledger, folder, report, begun)
    return report_lines(report)


async def _forget_sample(settings: Settings, parts: Parts, own: Sequence[str]) -> Sequence[str]:
    removed = 0
    for space in SAMPLE_SPACES:
        pages = await parts.index.pages(settings.tenant, space)
        removed += await parts.index.delete_pages(settings.tenant, space, list(pages))
        await records_of(settings).ledger.forget(space)
    gone = f" Its {removed} pages are removed." if removed else ""
    return [f"The sample company is left out, because {', '.join(own)} is indexed.{gone}"]
