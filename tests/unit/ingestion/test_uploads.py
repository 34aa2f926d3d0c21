"""Uploads as files: complete or absent, and never for others than they were sent for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ingestion import uploads as module
from ingestion.errors import DocumentUnknown, PageUnreadable
from ingestion.uploads import (
    METADATA_FOLDER,
    ReceivedFile,
    Uploads,
    flush,
    read_metadata,
    readers_meeting_both,
    write_metadata,
)
from ingestion.validation import parse_readers
from rag.types import EVERYONE, Readers

pytestmark = pytest.mark.attack

ALL: Readers = (frozenset({EVERYONE}),)
HR = parse_readers("group:hr")
IT = parse_readers("group:it")


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path, "acme")


def arrived(
    tmp_path: Path, text: str, readers: Readers = ALL, *, name: str = "a.md", kind: str = ".md"
) -> ReceivedFile:
    path = tmp_path / f"incoming-{abs(hash((text, name)))}"
    path.write_text(text)
    return ReceivedFile(path, name, kind, readers, "anna")


async def pages(uploads: Uploads) -> dict[str, Readers]:
    return {page.id: page.readers for page in (await uploads.source("HR").list()).pages}


async def test_a_document_is_kept_under_its_name_for_its_readers(
    tmp_path: Path, uploads: Uploads
) -> None:
    assert await uploads.keep("HR", arrived(tmp_path, "Text", HR)) == ("a.md", False)

    assert (tmp_path / "documents" / "HR" / "a.md").read_text() == "Text"
    assert await pages(uploads) == {"a.md": HR}
    assert uploads.spaces() == ["HR"]
    about = uploads.about("HR", "a.md")
    assert about
    assert (about.by, about.given) == ("anna", "a.md")


async def test_the_same_name_replaces(tmp_path: Path, uploads: Uploads) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Old", HR))

    assert await uploads.keep("HR", arrived(tmp_path, "New", IT)) == ("a.md", True)
    assert await pages(uploads) == {"a.md": IT}
    assert len(read_metadata(tmp_path / "documents" / "HR", "a.md")) == 1


async def test_the_same_name_replaces_also_what_was_of_another_kind(
    tmp_path: Path, uploads: Uploads
) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Text", name="notes", kind=".txt"))
    await uploads.keep("HR", arrived(tmp_path, "Mine", name="notes.html.txt", kind=".txt"))
    kept = await uploads.keep("HR", arrived(tmp_path, "<p>x", name="notes", kind=".html"))

    assert kept == ("notes.html", True)
    assert set(await pages(uploads)) == {"notes.html", "notes.html.txt"}


@pytest.mark.parametrize("at", ["before", "between", "after"])
async def test_killed_anywhere_no_text_is_read_by_others_than_it_was_sent_for(
    tmp_path: Path, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Old of HR", HR))
    writes = 0

    def dying(*parts: object) -> None:
        nonlocal writes
        writes += 1
        if at == "before" or (at == "after" and writes == 2):
            raise Killed
        write_metadata(*parts)  # type: ignore[arg-type]  # the same
        if at == "between":
            raise Killed

    monkeypatch.setattr(module, "write_metadata", dying)
    with pytest.raises(Killed):
        module.put_in_place(tmp_path / "documents" / "HR", arrived(tmp_path, "New of IT", IT))

    text = (tmp_path / "documents" / "HR" / "a.md").read_text()
    assert await pages(uploads) == {"a.md": IT if text == "New of IT" else HR}
    assert (text == "New of IT") == (at == "after")


async def test_a_file_that_nobody_sent_is_read_by_nobody(tmp_path: Path, uploads: Uploads) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Text"))
    folder = tmp_path / "documents" / "HR"
    (folder / "by-hand.md").write_text("Text")
    (folder / "a.md").write_text("Changed by hand")

    assert await pages(uploads) == {"a.md": (), "by-hand.md": ()}
    (folder / METADATA_FOLDER / "a.md.json").write_text("{broken")
    assert (await pages(uploads))["a.md"] == ()


async def test_what_was_replaced_since_it_was_listed_is_left_to_the_next_run(
    tmp_path: Path, uploads: Uploads
) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Old"))
    source = uploads.source("HR")
    (page,) = (await source.list()).pages
    await uploads.keep("HR", arrived(tmp_path, "Secret of HR", HR))

    with pytest.raises(PageUnreadable, match="next run"):
        await source.read(page)


@pytest.mark.mended(id="attack-6")
@pytest.mark.parametrize("url", ["https://evil.example/", "/pages/HR/b.md"])
async def test_an_upload_can_not_name_its_address(
    tmp_path: Path, uploads: Uploads, url: str
) -> None:
    await uploads.keep("HR", arrived(tmp_path, f"---\nurl: {url}\n---\nText", name="a.md"))

    listing = await uploads.source("HR").list()

    assert [page.url for page in listing.pages] == ["/pages/HR/a.md"]
    assert "was ignored" in listing.notes[0].reason


async def test_front_matter_can_narrow_and_never_widen(tmp_path: Path, uploads: Uploads) -> None:
    text = "---\nreaders: everyone\n---\nText"
    narrow = "---\nreaders: group:it\n---\nText"
    await uploads.keep("HR", arrived(tmp_path, text, HR, name="a.md"))
    await uploads.keep("HR", arrived(tmp_path, narrow, ALL, name="b.md"))
    await uploads.keep("HR", arrived(tmp_path, narrow, HR, name="c.md"))

    assert await pages(uploads) == {"a.md": HR, "b.md": IT, "c.md": (*HR, *IT)}


def test_readers_that_mean_nobody_stay_nobody() -> None:
    assert readers_meeting_both((), ALL) == ()
    assert readers_meeting_both(ALL, ()) == ()
    assert readers_meeting_both(ALL, None) == ALL
    assert readers_meeting_both(ALL, ALL) == ALL
    assert readers_meeting_both(IT, HR) == readers_meeting_both(HR, IT)


async def test_of_many_at_once_one_stays_whole_with_its_own_readers(
    tmp_path: Path, uploads: Uploads
) -> None:
    def one(number: int) -> ReceivedFile:
        readers = parse_readers(f"group:g{number}")
        return arrived(tmp_path, f"Text of g{number}", readers)

    others = Uploads(tmp_path, "acme")
    await asyncio.gather(
        *((uploads if number % 2 else others).keep("HR", one(number)) for number in range(12))
    )

    text = (tmp_path / "documents" / "HR" / "a.md").read_text()
    assert await pages(uploads) == {"a.md": parse_readers(f"group:{text.split()[-1]}")}


async def test_what_is_removed_is_gone(tmp_path: Path, uploads: Uploads) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Text"))

    await uploads.remove("HR", "a.md")

    assert await pages(uploads) == {}
    assert list((tmp_path / "documents" / "HR" / METADATA_FOLDER).iterdir()) == []
    with pytest.raises(DocumentUnknown):
        await uploads.remove("HR", "a.md")


@pytest.mark.parametrize("name", ["../secret", "..", "", ".about", "a\0b", "x" * 5000, "\ud800"])
@pytest.mark.parametrize("space", ["HR", "..", ".", "", "a/b"])
async def test_nothing_outside_is_reached(
    tmp_path: Path, uploads: Uploads, name: str, space: str
) -> None:
    await uploads.keep("HR", arrived(tmp_path, "Text"))
    (tmp_path / "documents" / "secret").write_text("Secret")

    assert uploads.about(space, name) is None
    with pytest.raises(DocumentUnknown):
        await uploads.remove(space, name)
    assert (tmp_path / "documents" / "secret").exists()


def test_what_interrupted_uploads_left_is_removed_after_a_while(
    tmp_path: Path, uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "documents" / ".incoming" / "x"
    left.parent.mkdir(parents=True)
    left.write_text("Half")

    uploads.tidy()
    assert left.exists()
    monkeypatch.setattr(module, "_LEFT_OVER_SECONDS", -1)
    uploads.tidy()
    assert not left.exists()


def test_what_can_not_be_flushed_is_no_error() -> None:
    # As a folder of some network shares: it is opened, and knows no flushing.
    flush(Path("/dev/null"))


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "gone")
