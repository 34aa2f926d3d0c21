"""What is kept beside an uploaded document: who may read it, who sent it, when."""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ValidationError

from rag.types import Principal, Readers

FOLDER = ".about"
_CHUNK = 1024 * 1024


class About(BaseModel):
    """One version of a document; ``given`` is the name that it was sent under."""

    digest: str
    given: str
    readers: list[list[str]]
    by: str
    at: datetime

    def may_read(self) -> Readers:
        return tuple(frozenset(Principal(name) for name in one) for one in self.readers)


class _Kept(BaseModel):
    versions: list[About]


def read_about(folder: Path, name: str) -> list[About]:
    """Return what is known of a document's versions; what is broken counts as unknown."""
    try:
        return _Kept.model_validate_json((folder / FOLDER / f"{name}.json").read_bytes()).versions
    except (OSError, ValidationError):
        return []


def write_about(folder: Path, name: str, versions: Sequence[About]) -> None:
    """Keep what is known of a document, all of it or nothing."""
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    fresh = place / f".{uuid.uuid4().hex}"
    fresh.write_text(_Kept(versions=list(versions)).model_dump_json(), encoding="utf-8")
    flush(fresh)
    fresh.replace(place / f"{name}.json")
    flush(place)


def forget_about(folder: Path, name: str) -> None:
    """Remove what is kept of a document; what is gone already is no error."""
    (folder / FOLDER / f"{name}.json").unlink(missing_ok=True)


def version_of(folder: Path, name: str, digest: str) -> About | None:
    """Return what is known of the version with these bytes."""
    found = (each for each in read_about(folder, name) if each.digest == digest)
    return next(found, None)


def digest_of(content: bytes) -> str:
    """Return the fingerprint that ties a version to its bytes."""
    return hashlib.sha256(content).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the same of a file, a piece at a time."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def flush(path: Path) -> None:
    """Have a file or folder written to the disk, so that a power cut does not undo it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Not every share knows what that is for a folder.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
