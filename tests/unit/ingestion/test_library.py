"""The library over a real index, with spaces read in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingestion.assembly import library_of, open_library
from ingestion.errors import DocumentRefused, DocumentUnknown
from ingestion.library import Library
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry, Run
from rag.errors import IndexUnavailable
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.types import EVERYONE, Principal

EVERYBODY = frozenset({EVERYONE})
OF_HR = frozenset({EVERYONE, Principal("group:hr")})
RUN = Run("r", "WIKI", False, False, "anna", "running", datetime.now(UTC))  # noqa: FBT003 - a value


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    yield opened
    await opened.close()


@pytest.fixture
async def library(tmp_path: Path, index: EmbeddedIndex) -> AsyncIterator[Library]:
    made = library_of(index, tenant="acme", data_dir=tmp_path)
    async with open_library(made):
        yield made


@pytest.fixture
async def wiki(tmp_path: Path) -> Path:
    """A folder that the command line was told of."""
    folder = tmp_path / "wiki"
    (folder / "it").mkdir(parents=True)
    (folder / "it" / "vpn.md").write_text("# VPN\n\nInstall the client first.\n")
    (folder / "pay.md").write_text("---\nreaders: group:hr\n---\n# Pay\n\nOn Friday.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    await Ledger(sqlite_in(tmp_path), "acme").note_folder(
        "WIKI", FolderEntry(str(folder), (("everyone",),))
    )
    return folder


@pytest.mark.usefixtures("wiki")
async def test_a_folder_is_read_again_and_shown_to_each_as_far_as_they_may_see(
    library: Library,
) -> None:
    await library.runs.start("WIKI", by="anna")
    await library.runs.settled()

    (seen,) = await library.spaces(EVERYBODY)
    (whole,) = await library.spaces(None)
    assert (seen.pages, seen.failures) == (1, ())
    assert (whole.pages, whole.source, whole.reindexable) == (2, "folder", True)
    assert [failure.page for failure in whole.failures] == ["broken.pdf"]
    assert [one.id for one in await library.documents("WIKI", EVERYBODY)] == ["it/vpn.md"]
    assert [one.id for one in await library.documents("WIKI", OF_HR)] == ["it/vpn.md", "pay.md"]
    with pytest.raises(DocumentUnknown):
        await library.document("WIKI", "pay.md", EVERYBODY)
    assert (await library.document("WIKI", "pay.md", OF_HR)).readers == "group:hr"


class Elsewhere(Ledger):
    """The ledger of a process on another host."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(sqlite_in(data_dir), "acme")
        self._owner = "elsewhere/1/x"


@pytest.mark.usefixtures("wiki")
async def test_what_was_killed_on_another_host_is_resumed_once_its_silence_tells(
    tmp_path: Path, index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.records.ledger.SILENT_SECONDS", 1.0)
    monkeypatch.setattr("ingestion.assembly.MAINTENANCE_SECONDS", 0.1)
    await Elsewhere(tmp_path).begin(RUN)
    made = library_of(index, tenant="acme", data_dir=tmp_path)

    async with open_library(made), asyncio.timeout(30):
        while not (told := await made.runs.get(RUN.id)) or not told.resumed_as:  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.05)
        await made.runs.settled()

    assert [space.name for space in await made.spaces(EVERYBODY)] == ["WIKI"]


@pytest.mark.usefixtures("wiki")
async def test_a_document_is_found_by_its_address(library: Library) -> None:
    await library.runs.start("WIKI", by="anna")
    await library.runs.settled()

    found = await library.at(["https://none.example", "/pages/WIKI/pay.md"], None)

    assert found
    assert (found.space, found.id) == ("WIKI", "pay.md")
    assert await library.at(["/pages/WIKI/pay.md"], EVERYBODY) is None


async def test_a_document_that_is_not_indexed_yet_is_hidden_from_those_it_may_not_be_for(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "incoming"
    path.write_text("Text")
    added = await library.add("HR", path, name="a.md", readers="group:hr", by="anna")

    with pytest.raises(DocumentUnknown):
        await library.document("HR", "a.md", EVERYBODY)
    assert (await library.document("HR", "a.md", None)).state in {"waiting", "indexed"}
    await library.runs.settled()
    assert (await library.document("HR", "a.md", None)).state == "indexed"
    assert (await library.runs.get(added.run_id) or RUN).state == "done"


async def test_a_name_that_is_exact_has_to_fit_the_content(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "incoming"
    path.write_text("<html><body>Text</body></html>")

    with pytest.raises(DocumentRefused, match=r"a\.md\.html"):
        await library.add("HR", path, name="a.md", readers="everyone", by="anna", exact=True)

    assert await library.spaces(None) == []
    added = await library.add("HR", path, name="a.md", readers="everyone", by="anna")
    assert added.id == "a.md.html"


async def test_the_format_that_is_declared_of_a_text_holds(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "incoming"
    path.write_text("Ask HR, not %PDF-1.7.")
    sent: dict[str, Any] = {"readers": "everyone", "by": "anna", "exact": True, "declared": True}

    assert (await library.add("HR", path, name="note.html", **sent)).id == "note.html"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.raises(DocumentRefused):
        await library.add("HR", path, name="picture.html", **sent)


async def test_a_server_starts_though_the_ledger_is_damaged(
    tmp_path: Path, index: EmbeddedIndex
) -> None:
    (tmp_path / "ingestion.sqlite").write_bytes(b"no database" * 1000)

    async with open_library(library_of(index, tenant="acme", data_dir=tmp_path)):
        pass


async def test_a_removal_that_was_cut_off_can_be_asked_for_again(
    library: Library, index: EmbeddedIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = tmp_path / "received"
    received.write_text("# Pay\n\nOn Friday.\n")
    await library.add("HR", received, name="pay.md", readers="everyone", by="anna")
    await library.runs.settled()

    async def refuse(*_: object) -> None:
        raise IndexUnavailable("The disk is full.")

    with monkeypatch.context() as full:
        full.setattr(index, "delete_pages", refuse)
        with pytest.raises(IndexUnavailable):
            await library.remove("HR", "pay.md", by="anna")
    assert await index.pages("acme", "HR")

    await library.remove("HR", "pay.md", by="anna")

    assert not await index.pages("acme", "HR")
    with pytest.raises(DocumentUnknown):
        await library.remove("HR", "pay.md", by="anna")
