"""Parse the CSV file that maps colleagues to Confluence accounts, as a whole or not at all.

The file is read again when it has changed.
"""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from ingestion.confluence.wiki import normalized_email
from ingestion.errors import DirectoryInvalid

_NEEDED = ("email", "account")
_KNOWN = (*_NEEDED, "groups")
_EMAIL = re.compile(r"[^\s@;,]+@[^\s@;,]+")
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """A person's account, and their groups by name; None where the file has no such column."""

    account: str
    groups: frozenset[str] | None = None


def parse_people(raw: bytes) -> Mapping[str, ListedPerson]:
    """Return people by lower-case e-mail address.

    A person may have several lines, one per group. Raises DirectoryInvalid: the line and the
    remedy.
    """
    rows = _rows(_text(raw))
    columns = _columns(next(rows, (1, [])))
    people: dict[str, ListedPerson] = {}
    for line, cells in rows:
        email, person = _person(line, cells, columns)
        people[email] = _joined(line, people.get(email), person)
    return people


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _invalid(line, "it is not UTF-8", 'save it as "CSV UTF-8"') from None


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not blank, each with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begins, [cell.strip() for cell in cells]
            begins = reader.line_num + 1
    except csv.Error as error:
        raise _invalid(
            begins, f"it is no CSV ({error})", "close each quote that is opened"
        ) from None


def _columns(header: tuple[int, Sequence[str]]) -> Mapping[str, int]:
    line, cells = header
    names = [cell.casefold() for cell in cells]
    cure = "the first line must be email,account or email,account,groups"
    if len(names) == 1 and ";" in names[0]:
        raise _invalid(line, "its columns are separated by ;", "separate them by commas")
    for needed in _NEEDED:
        if needed not in names:
            raise _invalid(line, f"there is no column {needed!r}", cure)
    for name in names:
        if name not in _KNOWN or names.count(name) > 1:
            raise _invalid(line, f"the column {name[:_MOST_SHOWN]!r} is not understood", cure)
    return {name: place for place, name in enumerate(names)}


def _person(
    line: int, cells: Sequence[str], columns: Mapping[str, int]
) -> tuple[str, ListedPerson]:
    if len(cells) > len(columns):
        cure = "put what has a comma into quotes, and ; between groups"
        raise _invalid(line, f"it has {len(cells)} cells, the first line {len(columns)}", cure)
    # Spreadsheets omit empty cells at the end of a line.
    told = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    if not _EMAIL.fullmatch(told["email"]):
        raise _invalid(line, "it has no e-mail address", "write one person's address in it")
    if not told["account"]:
        cure = "write the account's id, or leave the person out to be found by address"
        raise _invalid(line, "it has no account", cure)
    groups = _groups(told["groups"]) if "groups" in told else None
    return normalized_email(told["email"]), ListedPerson(told["account"], groups)


def _groups(cell: str) -> frozenset[str]:
    return frozenset(name.strip() for name in cell.split(";") if name.strip())


def _joined(line: int, known: ListedPerson | None, person: ListedPerson) -> ListedPerson:
    if known is None:
        return person
    if known.account != person.account:
        cure = "leave one account for each address"
        raise _invalid(line, "its address has another account in a line before", cure)
    if known.groups is None or person.groups is None:
        return person
    return ListedPerson(person.account, known.groups | person.groups)


def _invalid(line: int, what: str, cure: str) -> DirectoryInvalid:
    # Messages quote no cell except column names: lines hold addresses.
    return DirectoryInvalid(f"line {line}: {what}; {cure}.")


_MOST_BYTES = 64 * 1024 * 1024
_Stamp = tuple[int, int, int]

_log = structlog.get_logger(__name__)


class PeopleFile:
    """The last valid content of the people file.

    ``trouble`` is the error in the current file, "" when it is valid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asking = asyncio.Lock()
        self._stamp: _Stamp | None = None
        self._people: Mapping[str, ListedPerson] | None = None
        self.trouble = ""

    async def people(self) -> Mapping[str, ListedPerson]:
        """Return people by address. Raises DirectoryInvalid until the file was valid once."""
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
            self._people = parse_people(_read_file(self._path))
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


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise DirectoryInvalid(f"it has more than {_MOST_BYTES // 1024**2} MB. Leave people out.")
    return raw
