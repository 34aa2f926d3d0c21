"""The file that says which colleague is whom, as it is now: read again when it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import structlog

from ingestion.confluence.directory.errors import DirectoryInvalid
from ingestion.confluence.directory.people_csv import ListedPerson, parse_people

_MOST_BYTES = 64 * 1024 * 1024
_Stamp = tuple[int, int, int]

_log = structlog.get_logger(__name__)


class PeopleFile:
    """Holds what the file said when it could last be read whole.

    ``trouble`` says what is wrong with the file as it is now, "" when nothing is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asking = asyncio.Lock()
        self._stamp: _Stamp | None = None
        self._people: Mapping[str, ListedPerson] | None = None
        self.trouble = ""

    async def people(self) -> Mapping[str, ListedPerson]:
        """Return people by address. Raises DirectoryInvalid until the file could be read once."""
        async with self._asking:
            await asyncio.to_thread(self._look)
        if self._people is None:
            raise DirectoryInvalid(self.trouble)
        return self._people

    def _look(self) -> None:
        try:
            stamp = _stamp_of(self._path)
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self._people = parse_people(_read(self._path))
            self.trouble = ""
        except OSError as error:
            self._stamp = None
            self._note(f"it can't be read ({error.strerror}). Name a file that there is.")
        except DirectoryInvalid as error:
            self._note(str(error))

    def _note(self, what: str) -> None:
        trouble = f"CONFLUENCE_DIRECTORY={str(self._path)!r}: {what}"
        if trouble != self.trouble:
            _log.error("directory.refused", why=trouble, kept=self._people is not None)
        self.trouble = trouble


def _stamp_of(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise DirectoryInvalid(f"it has more than {_MOST_BYTES // 1024**2} MB. Leave people out.")
    return raw
