"""Store uploaded documents as files, with their readers, sender and time in a file beside each.

One folder per space; each file is complete or absent. Readers are stored per version, by a digest
of its bytes. First the readers of the new version are written beside those of the old one, then the
file is replaced atomically; so a kill at any point leaves a file readable by its intended readers,
or by nobody.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ingestion.documents.convert import EXTENSIONS, stored_name
from ingestion.errors import DocumentInTheWay, DocumentUnknown, RunInProgress
from ingestion.folder import LARGEST_FILE, FolderSource
from ingestion.records.leases import file_lease
from ingestion.validation import NOBODY, is_space_key, shortened
from rag.types import ANSWER_SOURCE, ANSWERS_SPACE, EVERYONE, Principal, Readers

METADATA_FOLDER = ".about"
_READ_BYTES = 1024 * 1024


class UploadMetadata(BaseModel):
    """One version of a document; ``given`` is the file name as uploaded."""

    digest: str
    given: str
    readers: list[list[str]]
    by: str
    at: datetime

    def may_read(self) -> Readers:
        return tuple(frozenset(Principal(name) for name in one) for one in self.readers)


class _StoredMetadata(BaseModel):
    versions: list[UploadMetadata]


def read_metadata(folder: Path, name: str) -> list[UploadMetadata]:
    """Return the stored versions of a document; a broken file counts as none."""
    try:
        return _StoredMetadata.model_validate_json(
            (folder / METADATA_FOLDER / f"{name}.json").read_bytes()
        ).versions
    except (OSError, ValidationError):
        return []


def write_metadata(folder: Path, name: str, versions: Sequence[UploadMetadata]) -> None:
    """Write the metadata of a document atomically."""
    place = folder / METADATA_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    fresh = place / f".{uuid.uuid4().hex}"
    fresh.write_text(_StoredMetadata(versions=list(versions)).model_dump_json(), encoding="utf-8")
    flush(fresh)
    fresh.replace(place / f"{name}.json")
    flush(place)


def delete_metadata(folder: Path, name: str) -> None:
    """Delete the metadata of a document; a missing file is no error."""
    (folder / METADATA_FOLDER / f"{name}.json").unlink(missing_ok=True)


def metadata_of_version(folder: Path, name: str, digest: str) -> UploadMetadata | None:
    """Return the metadata of the version with these bytes."""
    found = (each for each in read_metadata(folder, name) if each.digest == digest)
    return next(found, None)


def digest_of(content: bytes) -> str:
    """Return the digest that identifies a version."""
    return hashlib.sha256(content).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the digest of a file, read piece by piece."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def flush(path: Path) -> None:
    """Flush a file or folder to disk, so that a power cut does not undo its change."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network shares do not support this for a folder.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


KIND = "upload"
INCOMING = ".incoming"
_LEFT_OVER_SECONDS = 3600.0
_PAUSE_SECONDS = 0.05
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A checked document in a temporary file; ``kind`` is its file extension."""

    path: Path
    name: str
    kind: str
    readers: Readers
    by: str


@dataclass(frozen=True, slots=True)
class UploadedVersion:
    """A version of a document in a space."""

    space: str
    name: str
    version: UploadMetadata


class Uploads:
    """Stores uploads below ``documents`` in the data directory.

    Args:
        data_dir: the data directory.
        tenant: the tenant of the documents.
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
        """Return whether a space is filled by uploads."""
        return is_space_key(space) and (self._root / space).is_dir()

    def inventory(self, space: str) -> tuple[set[str], datetime | None]:
        """Return the names of a space's documents, and the time of the newest upload."""
        folder = self._root / space
        names = {each.name for each in folder.iterdir() if not each.name.startswith(".")}
        times = [version.at for name in names for version in read_metadata(folder, name)]
        return names, max(times, default=None)

    def about(self, space: str, name: str) -> UploadMetadata | None:
        """Return the metadata of a document; None when there is no such file."""
        path = self._path(space, name)
        if path is None:
            return None
        digest = digest_of_file(path)
        return metadata_of_version(path.parent, name, digest) or _readable_by_nobody(
            name, digest, path
        )

    def source(self, space: str) -> FolderSource:
        """Return a space's files as a source for a run."""
        folder = self._root / space

        def who(name: str, content: bytes, said: Readers | None) -> Readers:
            known = metadata_of_version(folder, name, digest_of(content))
            return NOBODY if known is None else readers_meeting_both(known.may_read(), said)

        return FolderSource(
            folder,
            space=space,
            readers=who,
            kind=kind_of(space),
            largest=self._largest,
            sure=True,
            says_urls=space == ANSWERS_SPACE,
        )

    async def keep(self, space: str, arrived: ReceivedFile) -> tuple[str, bool]:
        """Store a document, creating its space when it is the first.

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

    def receive(self, content: bytes) -> Path:
        """Write a document that did not come as a file to where ``keep`` moves it from."""
        incoming = self._root / INCOMING
        incoming.mkdir(parents=True, exist_ok=True)
        path = incoming / uuid.uuid4().hex
        path.write_bytes(content)
        return path

    def forget(self, space: str) -> None:
        """Remove a space with all its documents."""
        if self.has(space):
            shutil.rmtree(self._root / space)

    def by(self, names: frozenset[str]) -> Sequence[UploadedVersion]:
        """Return the versions of documents that somebody uploaded."""
        return [
            UploadedVersion(space, each.name, version)
            for space in self.spaces()
            for each in sorted((self._root / space).iterdir())
            for version in read_metadata(self._root / space, each.name)
            if version.by in names
        ]

    async def unname(self, names: frozenset[str], instead: str) -> None:
        """Name somebody else as the uploader; the documents and their dates stay."""
        for space, name in {(each.space, each.name) for each in self.by(names)}:
            async with self._alone(space):
                versions = [
                    each.model_copy(update={"by": instead}) if each.by in names else each
                    for each in read_metadata(self._root / space, name)
                ]
                if versions:
                    write_metadata(self._root / space, name, versions)

    def tidy(self) -> None:
        """Remove leftovers of interrupted uploads."""
        incoming = self._root / INCOMING
        for left in incoming.iterdir() if incoming.is_dir() else ():
            if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
                left.unlink(missing_ok=True)

    def _path(self, space: str, name: str) -> Path | None:
        """Return the path of a document; None for anything but a regular file of the space."""
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
        """Lock the files of a space, also against other processes."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with file_lease(self._data_dir, self._tenant, f"{space}\0files"):
                    yield
                    return
            except RunInProgress as error:
                if time.monotonic() > until:
                    raise DocumentInTheWay(
                        f"Another upload to {space!r} is still running. Try again in a minute."
                    ) from error
            await asyncio.sleep(_PAUSE_SECONDS)


def kind_of(space: str) -> str:
    """Return the source type of a space that is filled by files stored here."""
    return ANSWER_SOURCE if space == ANSWERS_SPACE else KIND


def readers_meeting_both(first: Readers, second: Readers | None) -> Readers:
    """Return readers that must match both the sender's and the page's own."""
    if second is None:
        return first
    if not first or not second:
        return NOBODY
    narrow = {names for names in (*first, *second) if EVERYONE not in names}
    return tuple(sorted(narrow, key=sorted)) or (frozenset({EVERYONE}),)


def put_in_place(folder: Path, arrived: ReceivedFile) -> tuple[str, bool]:
    """Do the same as ``Uploads.keep``, with the folder locked."""
    folder.mkdir(parents=True, exist_ok=True)
    name = stored_name(arrived.name, arrived.kind)
    digest = digest_of_file(arrived.path)
    fresh = UploadMetadata(
        digest=digest,
        given=arrived.name,
        readers=[sorted(one) for one in arrived.readers],
        by=arrived.by,
        at=datetime.now(UTC),
    )
    older = [each for each in read_metadata(folder, name) if each.digest != digest]
    replaced = (folder / name).exists()
    flush(arrived.path)
    write_metadata(folder, name, [*older, fresh])
    arrived.path.replace(folder / name)
    flush(folder)
    write_metadata(folder, name, [fresh])
    return name, _remove_namesakes(folder, name, arrived.name) or replaced


def _remove_namesakes(folder: Path, name: str, given: str) -> bool:
    """Remove documents uploaded under the same name with another file type."""
    removed = False
    for other in {given, *(f"{given}{ending}" for ending in EXTENSIONS)} - {name}:
        if any(each.given == given for each in read_metadata(folder, other)):
            _remove(folder / other)
            removed = True
    return removed


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    flush(path.parent)
    delete_metadata(path.parent, path.name)


def _readable_by_nobody(name: str, digest: str, path: Path) -> UploadMetadata:
    """Return metadata for an unknown version of a file: nobody may read it."""
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return UploadMetadata(digest=digest, given=name, readers=[], by="", at=changed)
