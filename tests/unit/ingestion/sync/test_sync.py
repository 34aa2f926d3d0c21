"""A source is brought into an index, pages are read concurrently, and one run holds a space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingestion.concurrency import for_each
from ingestion.errors import PageUnreadable, RunInProgress, SourceUnavailable, TooManyRemoved
from ingestion.folder import FolderSource
from ingestion.records.leases import file_lease
from ingestion.sync.report import NO_EMBEDDER, NoProgress
from ingestion.sync.sync import Folder, sync, sync_folder
from ingestion.types import Document, Finding, Listing, Paragraph, Report, SourcePage
from rag.errors import ModelUnavailable
from rag.types import EVERYONE, EmbeddingUse, Vectors
from tests.fakes.ingestion import MemoryIndex, pdf, word
from tests.fakes.rag_ports import WordEmbedder

ALL = (frozenset({EVERYONE}),)


class Desk:
    """A folder, an index and an embedder, and runs between them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index = MemoryIndex()
        self.embedder: WordEmbedder | None = WordEmbedder()
        self.readers = ALL

    def put(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    async def run(self, *, dry_run: bool = False, allow_mass_delete: bool = False) -> Report:
        self.index.changes.clear()
        return await sync(
            FolderSource(self.root, space="HR", readers=self.readers),
            self.index,
            self.embedder,
            tenant="acme",
            dry_run=dry_run,
            allow_mass_delete=allow_mass_delete,
            progress=NoProgress(),
        )

    def embedded(self) -> int:
        assert self.embedder
        count, self.embedder.embedded = self.embedder.embedded, 0
        return count


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_folder_is_indexed_with_vectors_that_belong_to_the_texts(desk: Desk) -> None:
    for number in range(30):
        sections = "".join(f"## S{n}\n\n{'word ' * 90}{number}.{n}\n\n" for n in range(number % 7))
        desk.put(f"p{number:02}.md", f"Intro {number}\n\n{sections}")

    report = await desk.run()

    assert len(report.added) == 30
    assert report.chunks == report.embedded == len(desk.index.chunks())
    for _, chunks, vectors in desk.index.stored.values():
        assert vectors is not None
        for chunk, vector in zip(chunks, vectors, strict=True):
            text = " > ".join(chunk.breadcrumb) + "\n" + chunk.text
            assert (vector == await WordEmbedder().embed_query(text)).all()


async def test_unchanged_content_costs_no_embedding_and_no_write(desk: Desk) -> None:
    desk.put("a.md", "Text")
    desk.put("b.pdf", pdf(("Text",)))
    desk.put("empty.md", "")
    await desk.run()
    desk.embedded()

    report = await desk.run()

    assert desk.embedded() == 0
    assert desk.index.changes == []
    assert report.unchanged == 3


@pytest.mark.parametrize("dry_run", [False, True])
async def test_only_what_changed_is_embedded_and_nothing_in_a_dry_run(
    desk: Desk, *, dry_run: bool
) -> None:
    desk.put("a.md", "Text")
    desk.put("b.md", "Text")
    await desk.run()
    desk.embedded()
    desk.put("a.md", "Other")
    desk.put("c.md", "New")
    (desk.root / "b.md").unlink()

    report = await desk.run(dry_run=dry_run)

    assert report.dry_run == dry_run
    assert (report.added, report.changed, report.removed) == (("c.md",), ("a.md",), ("b.md",))
    assert desk.embedded() == (0 if dry_run else 2)
    assert bool(desk.index.changes) != dry_run
    texts = [chunk.text for chunk in desk.index.chunks()]
    assert texts == (["Text", "Text"] if dry_run else ["Other", "New"])


async def test_new_readers_are_set_without_embedding(desk: Desk) -> None:
    desk.put("a.md", "Text")
    await desk.run()
    desk.embedded()
    desk.put("a.md", "---\nreaders: [group:hr]\n---\nText")

    report = await desk.run()

    assert report.readers_changed == ("a.md",)
    assert desk.embedded() == 0
    assert desk.index.changes == ["readers a.md"]
    assert desk.index.chunks()[0].readers == (frozenset({"group:hr"}),)


async def test_readers_and_removals_come_before_anything_is_written(desk: Desk) -> None:
    for name in ("a.md", "b.md", "c.md"):
        desk.put(name, "Text")
    await desk.run()
    desk.put("a.md", "---\nreaders: [group:hr]\n---\nOther")
    desk.put("0.md", "First in order")
    (desk.root / "c.md").unlink()

    await desk.run()

    assert desk.index.changes == ["readers a.md", "delete c.md", "upsert 0.md", "upsert a.md"]


async def test_mass_deletion_stops_before_anything_changes(desk: Desk) -> None:
    for number in range(10):
        desk.put(f"{number}.md", f"Text {number}")
    await desk.run()
    for number in range(5):
        (desk.root / f"{number}.md").unlink()
    desk.put("9.md", "---\nreaders: []\n---\nOther")

    with pytest.raises(TooManyRemoved, match="5 of 10"):
        await desk.run()
    dry = await desk.run(dry_run=True)

    assert desk.index.changes == []
    assert any("would stop" in warning for warning in dry.warnings)
    assert len((await desk.run(allow_mass_delete=True)).removed) == 5


async def test_an_unreadable_file_is_listed_and_the_rest_go_on(desk: Desk) -> None:
    desk.put("a.md", "Text")
    desk.put("b.docx", "no Word file")
    desk.put("c.pdf", b"%PDF-broken")
    desk.put("d.md", bytes(range(256)) * 40)
    desk.put("e.docx", word(("Normal", "Text")))
    desk.put("f.md", b"\xfcber")

    report = await desk.run()

    assert report.added == ("a.md", "e.docx", "f.md")
    assert {finding.page for finding in report.failed} == {"b.docx", "c.pdf", "d.md"}
    assert all(finding.reason for finding in report.failed)
    assert Finding("f.md", "not UTF-8; read as Windows-1252") in report.notes


async def test_a_page_that_becomes_unreadable_keeps_its_indexed_text(desk: Desk) -> None:
    desk.put("a.docx", word(("Normal", "Good text")))
    desk.put("b.md", "Text")
    await desk.run()
    desk.put("a.docx", "broken now")
    desk.put("b.md", bytes(range(256)) * 40)

    report = await desk.run()

    assert len(report.failed) == 2
    assert report.removed == ()
    assert [chunk.text for chunk in desk.index.chunks()] == ["Good text", "Text"]


async def test_a_page_without_text_is_noted_and_not_read_again(desk: Desk) -> None:
    desk.put("a.md", "<!-- nothing -->")

    report = await desk.run()

    assert report.notes == (Finding("a.md", "has no text"),)
    assert (await desk.run()).unchanged == 1


class CutOff(WordEmbedder):
    """An embedder that fails after a number of texts."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.embedded + len(texts) > self.after:
            raise ModelUnavailable("gone")
        return await super().embed(texts)


async def test_a_failing_embedder_ends_the_run_and_the_next_one_goes_on(desk: Desk) -> None:
    for number in range(40):
        desk.put(f"{number:02}.md", "".join(f"## S\n\n{'word ' * 90}\n\n" for _ in range(5)))
    desk.embedder = CutOff(after=128)

    with pytest.raises(ModelUnavailable):
        await desk.run()
    written = len(desk.index.stored)
    desk.embedder = WordEmbedder()
    report = await desk.run()

    assert 0 < written < 40
    assert len(report.added) == 40 - written
    assert all(len(chunks) == 5 for _, chunks, _ in desk.index.stored.values())


async def test_without_an_embedder_pages_are_kept_for_keywords_and_embedded_later(
    desk: Desk,
) -> None:
    desk.put("a.md", "Text")
    desk.embedder = None

    report = await desk.run()

    assert report.warnings == (NO_EMBEDDER,)
    assert desk.index.stored["acme", "HR", "a.md"][2] is None
    desk.embedder = WordEmbedder()
    assert (await desk.run()).changed == ("a.md",)
    assert desk.index.stored["acme", "HR", "a.md"][2] is not None


async def test_a_run_without_the_embedder_does_not_throw_vectors_away(desk: Desk) -> None:
    desk.put("a.md", "Text")
    await desk.run()
    desk.embedder = None

    report = await desk.run()

    assert report.unchanged == 1
    assert desk.index.changes == []


async def test_another_embedder_embeds_everything_anew(desk: Desk) -> None:
    desk.put("a.md", "Text")
    await desk.run()
    assert desk.embedder
    desk.embedder.name = "words@2"

    assert (await desk.run()).changed == ("a.md",)


async def test_other_spaces_and_tenants_are_left_alone(desk: Desk) -> None:
    desk.put("a.md", "Text")
    await desk.run()
    (page, chunks, vectors) = desk.index.stored.pop(("acme", "HR", "a.md"))
    for key in (("acme", "IT", "x.md"), ("other", "HR", "x.md")):
        desk.index.stored[key] = (page, chunks, vectors)

    await desk.run(allow_mass_delete=True)

    assert len(desk.index.stored) == 3


class Counter(NoProgress):
    def __init__(self) -> None:
        self.total = self.pages = self.chunks = self.ended = 0

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        assert space == "HR"
        self.total = pages

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        self.pages += pages
        self.chunks += chunks

    def end(self) -> None:
        self.ended += 1


@pytest.mark.parametrize("with_embedder", [True, False])
async def test_progress_reaches_the_end(desk: Desk, *, with_embedder: bool) -> None:
    for number in range(20):
        desk.put(f"{number}.md", "Text")
    desk.put("broken.pdf", "x")
    desk.put("empty.md", "")
    counter = Counter()

    report = await sync(
        FolderSource(desk.root, space="HR", readers=ALL),
        desk.index,
        desk.embedder if with_embedder else None,
        tenant="acme",
        progress=counter,
    )

    assert (counter.total, counter.pages, counter.chunks) == (22, 22, report.chunks)
    assert counter.ended == 1


async def test_a_second_run_on_a_space_stops_and_a_dry_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Text")
    folder, state = Folder(tmp_path / "docs", "HR"), tmp_path / "state"
    index = MemoryIndex()

    with file_lease(state, "acme", "HR"):
        with pytest.raises(RunInProgress):
            await sync_folder(folder, index, WordEmbedder(), tenant="acme", data_dir=state)
        await sync_folder(
            folder, index, WordEmbedder(), tenant="acme", data_dir=state, dry_run=True
        )
    assert index.changes == []

    report = await sync_folder(folder, index, WordEmbedder(), tenant="acme", data_dir=state)

    assert report.added == ("a.md",)


@dataclass
class Wiki:
    """Twelve pages; the first of each batch that is asked for answers last."""

    space: str = "IT"
    type: str = "wiki"
    at_once: int = 4
    most: int = 0
    read_so_far: list[str] = field(default_factory=list)
    broken: Callable[[str], None] = lambda _: None
    under_way: int = 0
    _others: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def list(self) -> Listing:
        ids = [f"{number:02}" for number in range(12)]
        return Listing(tuple(SourcePage(each, "1", ALL, f"https://w/{each}") for each in ids))

    async def read(self, page: SourcePage) -> Document:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self._wait_for_others(int(page.id))
            self.broken(page.id)
            self.read_so_far.append(page.id)
            return Document(page.id, (Paragraph(f"Words of {page.id}."),))
        finally:
            self.under_way -= 1

    async def _wait_for_others(self, number: int) -> None:
        """Let the first three of four wait until the fourth was asked for."""
        async with self._others:
            self._others.notify_all()
            if self.at_once > 1 and number % 4 < 3:
                await self._others.wait()


async def into(index: MemoryIndex, wiki: Wiki) -> Report:
    async with asyncio.timeout(60):
        return await sync(wiki, index, None, tenant="acme", progress=NoProgress())


def written(index: MemoryIndex) -> list[str]:
    return [change.split()[-1] for change in index.changes if "readers" not in change]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_pages_are_read_at_once_within_bounds_and_written_in_order(at_once: int) -> None:
    wiki, index = Wiki(at_once=at_once), MemoryIndex()

    report = await into(index, wiki)

    assert wiki.most == at_once
    assert len(report.added) == 12
    assert written(index) == [f"{number:02}" for number in range(12)]


async def test_pages_that_can_not_be_read_are_told_in_order_and_tried_again() -> None:
    def broken(page: str) -> None:
        if page in {"01", "06"}:
            raise PageUnreadable("is broken")

    wiki, index = Wiki(broken=broken), MemoryIndex()
    report = await into(index, wiki)

    assert report.failed == (Finding("01", "is broken"), Finding("06", "is broken"))
    assert len(written(index)) == 10
    wiki.broken = lambda _: None
    wiki.at_once = 1
    assert (await into(index, wiki)).added == ("01", "06")


async def test_a_wiki_that_goes_away_ends_the_run_and_what_is_being_read() -> None:
    def broken(page: str) -> None:
        if page == "05":
            raise SourceUnavailable("The wiki is down.")

    wiki, index = Wiki(broken=broken), MemoryIndex()
    with pytest.raises(SourceUnavailable, match="down"):
        await into(index, wiki)

    assert written(index) == sorted(written(index))
    assert "11" not in wiki.read_so_far
    assert wiki.under_way == 0


async def test_all_is_done_and_never_more_than_so_many_at_a_time() -> None:
    under_way: set[int] = set()
    done: list[int] = []
    most = 0

    async def work(item: int) -> None:
        nonlocal most
        under_way.add(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.remove(item)
        done.append(item)

    await for_each(range(9), work, at_once=3)

    assert (done, most) == (list(range(9)), 3)


async def test_the_first_error_comes_as_it_is_and_what_waits_is_not_begun() -> None:
    begun: list[int] = []

    async def work(item: int) -> None:
        begun.append(item)
        await asyncio.sleep(0)
        raise LookupError(item)

    with pytest.raises(LookupError):
        await for_each(range(9), work, at_once=2)

    assert len(begun) < 9
