"""One source into its space, one run at a time: what the command line and the server share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ingestion.folder import FolderSource
from ingestion.pipeline import Confirm, unconfirmed
from ingestion.ports import Progress, Source
from ingestion.progress import Silent
from ingestion.records.leases import FileLeases, Leases
from ingestion.sync import sync
from ingestion.types import Extent, Report
from rag.ports import Embedder, Index
from rag.types import EVERYONE, Readers

ALL: Readers = (frozenset({EVERYONE}),)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that fills a space.

    ``readers`` hold for pages whose front matter does not say who may read them. Page paths are
    joined to ``base_url``; without it they become paths on this server (``/pages/SPACE/…``).
    """

    path: Path
    space: str
    readers: Readers = ALL
    base_url: str | None = None


async def sync_folder(
    folder: Folder,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    data_dir: Path,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Bring a space up to date with a folder; one run at a time a space and data directory.

    A dry run takes no lease and changes nothing. For an index that is a file in ``data_dir``;
    where records are shared, ``sync_source`` is given their leases.

    Raises:
        RunInProgress: another run works on the space.
        SourceUnavailable, TooManyRemoved, rag.errors.RagError: as ingestion.sync.sync.
    """
    return await sync_source(
        source_of(folder),
        index,
        embedder,
        tenant=tenant,
        leases=FileLeases(data_dir, tenant),
        dry_run=dry_run,
        allow_mass_delete=allow_mass_delete,
        progress=progress,
    )


def source_of(folder: Folder) -> FolderSource:
    """Return the source that a folder is."""
    return FolderSource(
        folder.path, space=folder.space, readers=folder.readers, base_url=folder.base_url
    )


async def sync_source(
    source: Source,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    leases: Leases,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    extent: Extent = "all",
    page: str = "",
    watermark: str = "",
    again: Collection[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Bring a space up to date with any source; all else as sync_folder and sync.

    Raises LeaseLost, too: another run may work there by now, and this one wrote nothing more.
    """
    async with _held(leases, source.space, dry_run=dry_run) as confirm:
        return await sync(
            source,
            index,
            embedder,
            tenant=tenant,
            dry_run=dry_run,
            allow_mass_delete=allow_mass_delete,
            extent=extent,
            page=page,
            watermark=watermark,
            again=again,
            confirm=confirm,
            progress=progress or Silent(),
        )


@asynccontextmanager
async def _held(leases: Leases, space: str, *, dry_run: bool) -> AsyncIterator[Confirm]:
    if dry_run:
        yield unconfirmed
        return
    async with leases.held(space) as lease:
        yield lease.confirm
