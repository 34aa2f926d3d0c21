"""What is said when a space is to be forgotten that comes back by itself."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest
from pydantic import SecretStr

from ingestion.cli.maintenance import forget_space
from ingestion.config import Settings
from ingestion.errors import SourceUnavailable
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from ingestion.runs.source_registry import KnownSources
from ingestion.sources.uploads import Uploads
from rag.index.embedded.index import open_index
from rag.types import EVERYONE, Page
from tests.ingestion.test_runs import Named

READERS = (frozenset({EVERYONE}),)


def settings_in(folder: Path, **more: object) -> Settings:
    wiki = {"confluence_url": "https://w.example", "confluence_token": SecretStr("t")}
    settings = Settings(_env_file=None, data_dir=folder, tenant="acme")
    return settings.model_copy(update={**wiki, **more})


async def holding(folder: Path, page: str) -> None:
    index = await open_index(folder / "index.sqlite", None)
    await index.upsert_page(Page("acme", "IT", page, "1", READERS), (), None)
    await index.close()


@pytest.mark.parametrize(
    ("page", "more", "comes_back"),
    [
        ("123", {}, True),
        ("123/att4", {}, True),
        ("123", {"confluence_skip_spaces": ("IT",)}, False),
        ("123", {"confluence_spaces": ("HR",)}, False),
        ("123", {"confluence_url": None, "confluence_token": None}, False),
        ("leave.md", {}, False),
    ],
)
async def test_a_space_of_the_wiki_comes_back_and_that_is_said(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    page: str,
    more: dict[str, object],
    *,
    comes_back: bool,
) -> None:
    await holding(tmp_path, page)
    settings = settings_in(tmp_path, **more)

    assert await forget_space(Namespace(space="IT", yes=False), settings) == 2
    assert ("CONFLUENCE_SKIP_SPACES" in capsys.readouterr().err) == comes_back
    assert await forget_space(Namespace(space="IT", yes=True), settings) == 0
    assert ("the next pass reads it again" in capsys.readouterr().out) == comes_back


class Away(Named):
    async def spaces(self) -> list[str]:
        raise SourceUnavailable("The wiki is away.")


async def test_a_key_that_two_have_is_told_once_in_the_log_and_in_each_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    await ledger.note_folder("HR", FolderEntry(str(tmp_path), (("everyone",),)))
    uploads = Uploads(tmp_path, "acme")
    sources = KnownSources(uploads, ledger, Named("HR", "IT"))

    for _ in range(3):
        assert await sources.of_the_wiki() == ["IT"]

    assert capsys.readouterr().out.count("wiki.spaces_taken") == 1
    assert await sources.taken() == ["HR"]
    (told,) = await sources.warnings("HR")
    assert "CONFLUENCE_SKIP_SPACES" in told
    assert await sources.warnings("IT") == ()
    assert await KnownSources(uploads, ledger, Away()).warnings("HR") == ()
