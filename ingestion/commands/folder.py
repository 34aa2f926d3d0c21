"""``folder``: a folder of files into its space, in this process."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from ingestion.commands.codes import FAILED
from ingestion.commands.opened import kept_records, opened_index, warned_embedder
from ingestion.config import Settings
from ingestion.errors import SettingInvalid
from ingestion.progress import progress_on
from ingestion.report import report_lines
from ingestion.run import Folder, source_of, sync_source
from ingestion.sources import remember
from ingestion.uploads import Uploads


async def sync_folder_now(options: argparse.Namespace, settings: Settings) -> int:
    """Bring the space up to date with the folder, and remember that it fills it."""
    folder = Folder(options.path, options.space, options.readers, options.base_url)
    _refuse_uploads(options.space, settings)
    begun = datetime.now(UTC)
    with kept_records(settings) as records:
        async with (
            warned_embedder(settings) as embedder,
            opened_index(settings, embedder, write=not options.dry_run) as index,
        ):
            report = await sync_source(
                source_of(folder),
                index,
                embedder,
                tenant=settings.tenant,
                leases=records.leases,
                dry_run=options.dry_run,
                allow_mass_delete=options.allow_mass_delete,
                progress=progress_on(sys.stderr),
            )
        await remember(records.ledger, folder, report, begun)
    print("\n".join(report_lines(report)))
    return FAILED if report.failed else 0


def _refuse_uploads(space: str, settings: Settings) -> None:
    if Uploads(settings.data_dir, settings.tenant).has(space):
        raise SettingInvalid(
            f"Space {space!r} is filled by uploads, and a folder would drop them. Choose another "
            "space for the folder."
        )
