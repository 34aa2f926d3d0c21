"""Names of people from the record and from the directory file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.app.directory_names import (
    ListPeople,
    RecordedNames,
    directory_file,
    name_of_address,
)
from bot.store.database import Store
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import DirectoryInvalid
from rag.personal_data.names import DirectoryNames
from tests.fakes.builders import message


async def ask(store: Store, name: str) -> None:
    asked = message("vpn?")
    asked = replace(asked, received_at=datetime.now(UTC), author=replace(asked.author, name=name))
    await store.work.open(asked, "test")


def recorded(
    names: DirectoryNames, store: Store, listed: ListPeople | None = None
) -> RecordedNames:
    return RecordedNames(
        names,
        "default",
        askers=store.askers,
        listed=listed,
        is_open=lambda: True,
    )


async def test_those_who_asked_and_those_in_the_file_are_known(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("email,account\nbob.baker-jones@acme.example,1\ncarol@acme.example,2\n")
    await ask(store, "Ann Example")
    names = DirectoryNames()

    settings = IngestionSettings(_env_file=None, confluence_directory=str(file))
    await recorded(names, store, directory_file(settings)).read()

    assert names.people == ("Ann Example", "bob baker-jones")


async def test_a_file_that_cannot_be_read_leaves_the_names_of_the_record(store: Store) -> None:
    async def listed() -> Mapping[str, object]:
        raise DirectoryInvalid("line 1: it is no CSV.")

    await ask(store, "Ann Example")
    names = DirectoryNames()
    await recorded(names, store, listed).read()

    assert names.people == ("Ann Example",)


@pytest.mark.parametrize(
    ("email", "name"),
    [
        ("anna.schmidt@acme.example", "anna schmidt"),
        ("anna_m.schmidt@acme.example", "anna m schmidt"),
        ("aschmidt@acme.example", ""),
        ("team.2@acme.example", ""),
    ],
)
def test_a_mail_address_may_be_made_of_a_name(email: str, name: str) -> None:
    assert name_of_address(email) == name


@pytest.mark.parametrize("named", [None, "entra"])
def test_without_a_file_nobody_is_listed(named: str | None) -> None:
    assert directory_file(IngestionSettings(_env_file=None, confluence_directory=named)) is None
