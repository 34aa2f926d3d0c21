"""The file is read again when it changes, and a broken one changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingestion.confluence.directory.people_file import ListedPerson, PeopleFile
from ingestion.confluence.errors import DirectoryInvalid

HEADER = "email,account\n"


def write(path: Path, text: str) -> None:
    """Write as one moment later, for clocks of file systems may be slow."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


async def test_a_change_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write(path, f"{HEADER}ann@acme.example,1\n")
    file = PeopleFile(path)
    assert await file.people() == {"ann@acme.example": ListedPerson("1")}

    write(path, f"{HEADER}bob@acme.example,2\n")

    assert await file.people() == {"bob@acme.example": ListedPerson("2")}


async def test_the_last_good_one_is_kept_while_the_file_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write(path, f"{HEADER}ann@acme.example,1\n")
    file = PeopleFile(path)
    good = await file.people()

    write(path, f"{HEADER}ann@acme.example\n")
    assert await file.people() == good
    assert "line 2: it has no account" in file.trouble
    path.unlink()
    assert await file.people() == good
    assert str(path) in file.trouble

    write(path, HEADER)
    assert await file.people() == {}
    assert file.trouble == ""


async def test_a_file_that_was_never_good_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    file = PeopleFile(path)
    with pytest.raises(DirectoryInvalid, match="Name a file"):
        await file.people()

    write(path, "email\n")
    with pytest.raises(DirectoryInvalid, match="line 1: there is no column 'account'"):
        await file.people()
