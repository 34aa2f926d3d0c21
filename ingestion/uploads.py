"""Uploaded documents as files: one folder a space, each file whole or not there.

A version's readers are tied to its bytes (ingestion.about). First the readers of the new version
are written beside those of the old one, then the file takes the old one's place in one step; so
whatever is killed when, a file is read by whom it was sent for, or by nobody.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ingestion.about import (
    About,
    digest_of,
    digest_of_file,
    flush,
    forget_about,
    read_about,
    version_of,
    write_about,
)
from ingestion.convert import EXTENSIONS
from ingestion.errors import DocumentInTheWay, DocumentUnknown, RunInProgress
from ingestion.folder import LARGEST_FILE, FolderSource
from ingestion.names import is_space_key, shortened
from ingestion.readers import NOBODY
from ingestion.records.file_lock import lease
from ingestion.sniffing import stored_name
from rag.types import EVERYONE, Readers

KIND = "upload"
INCOMING = ".incoming"
_LEFT_OVER_SECONDS = 3600.0
_PAUSE_SECONDS = 0.05
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """A document that was checked and waits as a temporary file; ``kind`` is an ending."""

    path: Path
    name: str
    kind: str
    readers: Readers
    by: str


class Uploads:
    """The files below ``documents`` of the data directory.

    Args:
        data_dir: the data directory.
        tenant: whose documents they are.
        largest: bytes; larger files are not read.
    """

    def __init__(self, data_dir: Path, tenant: str, largest: int = LARGEST_FILE) -> None:
        self._data_dir = data_dir
        self._root = data_dir / "documents"
        self._tenant = tenant
        self._largest = largest

    def spaces(self) -> Sequence[str]:
        """Return the spaces that are filled by uploads."""
        if not self._root.is_dir():
            return ()
        found = (each.name for each in self._root.iterdir() if each.is_dir())
        return sorted(name for name in found if is_space_key(name))

    def has(self, space: str) -> bool:
        """Tell whether a space is filled by uploads."""
        return is_space_key(space) and (self._root / space).is_dir()

    def inventory(self, space: str) -> tuple[set[str], datetime | None]:
        """Return the names of a space's documents, and when the newest was sent."""
        folder = self._root / space
        names = {each.name for each in folder.iterdir() if not each.name.startswith(".")}
        times = [version.at for name in names for version in read_about(folder, name)]
        return names, max(times, default=None)

    def about(self, space: str, name: str) -> About | None:
        """Return what is known of a document; None when there is no such file."""
        path = self._path(space, name)
        if path is None:
            return None
        digest = digest_of_file(path)
        return version_of(path.parent, name, digest) or _unknown(name, digest, path)

    def source(self, space: str) -> FolderSource:
        """Return a space's files as a source for a run."""
        folder = self._root / space

        def who(name: str, content: bytes, said: Readers | None) -> Readers:
            known = version_of(folder, name, digest_of(content))
            return NOBODY if known is None else both(known.may_read(), said)

        return FolderSource(
            folder,
            space=space,
            readers=who,
            kind=KIND,
            largest=self._largest,
            sure=True,
            says_urls=False,
        )

    async def keep(self, space: str, arrived: Arrived) -> tuple[str, bool]:
        """Put a document in its place, and its space there when it is the first.

        Return its name there, and whether it replaced one of that name.
        """
        async with self._alone(space):
            return await asyncio.to_thread(put_in_place, self._root / space, arrived)

    async def remove(self, space: str, name: str) -> None:
        """Remove a document. Raises DocumentUnknown."""
        async with self._alone(space):
            path = self._path(space, name)
            if path is None:
                raise DocumentUnknown(f"There is no uploaded document {shortened(name)}.")
            await asyncio.to_thread(_remove, path)

    def forget(self, space: str) -> None:
        """Remove a space with all its documents."""
        if self.has(space):
            shutil.rmtree(self._root / space)

    def tidy(self) -> None:
        """Remove what interrupted uploads left behind."""
        incoming = self._root / INCOMING
        for left in incoming.iterdir() if incoming.is_dir() else ():
            if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
                left.unlink(missing_ok=True)

    def _path(self, space: str, name: str) -> Path | None:
        """Return the file of a document; None for whatever is no plain file of the space."""
        odd = not name or name.startswith(".") or "/" in name or "\\" in name or "\0" in name
        if odd or not is_space_key(space):
            return None
        path = self._root / space / name
        try:
            return path if path.is_file() and not path.is_symlink() else None
        except (OSError, ValueError):
            return None

    @asynccontextmanager
    async def _alone(self, space: str) -> AsyncIterator[None]:
        """Change files of a space one after the other, also across processes."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with lease(self._data_dir, self._tenant, f"{space}\0files"):
                    yield
                    return
            except RunInProgress as error:
                if time.monotonic() > until:
                    raise DocumentInTheWay(
                        f"Another upload into {space!r} takes long. Try again in a minute."
                    ) from error
            await asyncio.sleep(_PAUSE_SECONDS)


def both(first: Readers, second: Readers | None) -> Readers:
    """Return readers that must be met twice: as the sender said, and as the page says itself."""
    if second is None:
        return first
    if not first or not second:
        return NOBODY
    narrow = {names for names in (*first, *second) if EVERYONE not in names}
    return tuple(sorted(narrow, key=sorted)) or (frozenset({EVERYONE}),)


def put_in_place(folder: Path, arrived: Arrived) -> tuple[str, bool]:
    """Do what ``Uploads.keep`` does, alone on the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = stored_name(arrived.name, arrived.kind)
    digest = digest_of_file(arrived.path)
    fresh = About(
        digest=digest,
        given=arrived.name,
        readers=[sorted(one) for one in arrived.readers],
        by=arrived.by,
        at=datetime.now(UTC),
    )
    older = [each for each in read_about(folder, name) if each.digest != digest]
    replaced = (folder / name).exists()
    flush(arrived.path)
    write_about(folder, name, [*older, fresh])
    arrived.path.replace(folder / name)
    flush(folder)
    write_about(folder, name, [fresh])
    return name, _remove_namesakes(folder, name, arrived.name) or replaced


def _remove_namesakes(folder: Path, name: str, given: str) -> bool:
    """Remove what was sent under the same name when it held something of another kind."""
    removed = False
    for other in {given, *(f"{given}{ending}" for ending in EXTENSIONS)} - {name}:
        if any(each.given == given for each in read_about(folder, other)):
            _remove(folder / other)
            removed = True
    return removed


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    flush(path.parent)
    forget_about(path.parent, path.name)


def _unknown(name: str, digest: str, path: Path) -> About:
    """Stand in for what is not known of a file: nobody may read it."""
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return About(digest=digest, given=name, readers=[], by="", at=changed)
