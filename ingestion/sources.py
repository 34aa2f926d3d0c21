"""Which source fills which space: uploads, or a folder that was named once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from ingestion.errors import DocumentUnknown
from ingestion.ledger import FolderEntry, Ledger, Synced
from ingestion.names import shortened
from ingestion.ports import Source
from ingestion.run import Folder, source_of
from ingestion.tally import failure
from ingestion.types import Report
from ingestion.uploads import Uploads
from rag.types import Principal


class Sources(Protocol):
    """What can be read again."""

    async def spaces(self) -> Sequence[str]:
        """Return the spaces that have a source."""
        ...

    async def of(self, space: str) -> Source:
        """Return the source of a space. Raises DocumentUnknown."""
        ...


class KnownSources:
    """Implements Sources: the uploads, and the folders that the ledger remembers."""

    def __init__(self, uploads: Uploads, ledger: Ledger) -> None:
        self._uploads = uploads
        self._ledger = ledger

    async def spaces(self) -> Sequence[str]:
        return sorted({*self._uploads.spaces(), *await self._ledger.folders()})

    async def of(self, space: str) -> Source:
        if self._uploads.has(space):
            return self._uploads.source(space)
        folder = (await self._ledger.folders()).get(space)
        if folder is None:
            raise DocumentUnknown(
                f"It is not known what fills the space {shortened(space)}. Say it once: "
                f"python -m ingestion folder PATH --space KEY"
            )
        return source_of(_folder(space, folder))


def entry_of(folder: Folder) -> FolderEntry:
    """Return a folder as the ledger keeps it."""
    readers = tuple(tuple(sorted(one)) for one in folder.readers)
    return FolderEntry(str(folder.path.resolve()), readers, folder.base_url)


async def remember(ledger: Ledger, folder: Folder, report: Report, begun: datetime) -> None:
    """Keep that a folder fills its space, and when it was last read."""
    if report.dry_run:
        return
    failures = tuple(failure(report.space, one.page, one.reason) for one in report.failed)
    await ledger.note_folder(folder.space, entry_of(folder))
    await ledger.note_synced(folder.space, Synced(begun, datetime.now(UTC), failures))


def _folder(space: str, entry: FolderEntry) -> Folder:
    readers = tuple(frozenset(Principal(name) for name in one) for one in entry.readers)
    return Folder(Path(entry.path), space, readers, entry.base_url)
