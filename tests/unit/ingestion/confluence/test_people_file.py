"""The file of people is taken completely or not at all, and read again when it changes."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.people_file import ListedPerson, PeopleFile, parse_people
from ingestion.errors import DirectoryInvalid

ANN = ListedPerson("712020:ann", frozenset({"staff", "board"}))

_letters = st.text("abcxyzäß", min_size=1, max_size=6)
_emails = st.builds("{}@{}.example".format, _letters, _letters)
_cell = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters=";"),
    min_size=1,
    max_size=12,
)
_people = st.dictionaries(
    _emails, st.builds(ListedPerson, _cell, st.frozensets(_cell, max_size=3)), max_size=8
)


@pytest.mark.parametrize(
    "written",
    [
        b"email,account,groups\nann@acme.example,712020:ann,staff;board\n",
        b"\xef\xbb\xbfemail,account,groups\r\nann@acme.example,712020:ann,staff;board\r\n",
        b'"Email","Account","Groups"\n"ANN@Acme.Example","712020:ann"," staff ; board;;"',
        b"groups,email,account\n\nstaff;board,ann@acme.example,712020:ann\n,,\n",
        b"email,account,groups\nann@acme.example,712020:ann,staff\nAnn@acme.example,712020:ann,board",
        b"email,account,groups\rann@acme.example,712020:ann,staff;board\r",
    ],
    ids=["plain", "bom and windows", "quotes and case", "order and blanks", "twice", "old mac"],
)
def test_it_is_read_however_it_was_saved(written: bytes) -> None:
    assert parse_people(written) == {"ann@acme.example": ANN}


def test_groups_are_told_apart_from_no_groups_and_from_no_column() -> None:
    without = parse_people(b"email,account\nann@acme.example,1\n")
    none = parse_people(b"email,account,groups\nann@acme.example,1,\n")
    cut = parse_people(b"email,account,groups\nann@acme.example,1\n")

    assert without["ann@acme.example"].groups is None
    assert none["ann@acme.example"].groups == frozenset()
    assert cut == none


@pytest.mark.parametrize(
    ("written", "line", "cure"),
    [
        (b"", "line 1", "email,account"),
        (b"ann@acme.example,1\n", "line 1", "no column 'email'"),
        (b"email,account,group\n", "line 1", "the column 'group' is not understood"),
        (b"email,account,email\n", "line 1", "'email' is not understood"),
        (b"email;account\nann@acme.example;1\n", "line 1", "by commas"),
        (b"email,account\n\nann,1\n", "line 3", "no e-mail address"),
        (b"email,account\nann@acme.example,\n", "line 2", "no account"),
        (b"email,account\nann@acme.example,1,staff,board\n", "line 2", "; between groups"),
        (b"email,account\na@b.example,1\nA@b.example,2\n", "line 3", "another account"),
        (b'email,account\na@b.example,1\nb@b.example,"2\n', "line 3", "quote"),
        (b"email,account\na@b.example,\xff\n", "line 2", "CSV UTF-8"),
        ("email,account\n".encode("utf-16"), "line 1", "CSV UTF-8"),
    ],
)
def test_a_broken_file_is_refused_with_line_and_cure(written: bytes, line: str, cure: str) -> None:
    with pytest.raises(DirectoryInvalid) as refused:
        parse_people(written)

    assert line in str(refused.value)
    assert cure in str(refused.value)


def test_no_address_is_ever_told() -> None:
    with pytest.raises(DirectoryInvalid) as refused:
        parse_people(b"email,account\nann@acme.example,1\nann@acme.example,2\n")

    assert "ann" not in str(refused.value)


@given(_people, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_what_is_written_is_read(
    people: Mapping[str, ListedPerson], ending: str, encoding: str
) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator=ending)
    writer.writerow(["email", "account", "groups"])
    for email, person in people.items():
        writer.writerow([email.upper(), person.account, ";".join(person.groups or ())])

    read = parse_people(file.getvalue().encode(encoding))

    assert read == {email.upper().casefold(): person for email, person in people.items()}


@given(st.binary(max_size=200))
def test_whatever_is_in_the_file_is_read_or_refused(raw: bytes) -> None:
    try:
        people = parse_people(b"email,account,groups\n" + raw)
    except DirectoryInvalid:
        return
    assert all("@" in email and person.account for email, person in people.items())


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
