"""The index in a file: processes, crashes and damage, and its table of vectors and tokens."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.embedded import queries, schema, writes
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.index.embedded.terms import MOST_NAMED, Terms
from rag.index.embedded.vectors import VectorTable, token_similarity
from rag.text.spelling import Spelling
from rag.types import EVERYONE, Fingerprint, Principal, Question, TokenSigns, Vectors
from tests.fakes.passages import EMBEDDER, Draft, ask, draft, page_ids
from tests.fakes.passages import put as put_pages

WRITER_PROGRAM = """
import asyncio, sys
from pathlib import Path
from rag.index.embedded.index import fingerprint_of, open_index
from tests.fakes.passages import EMBEDDER, Draft, put

async def main() -> None:
    index = await open_index(Path(sys.argv[1]), fingerprint_of(EMBEDDER))
    number = 0
    while True:
        texts = tuple(f"VPN version{number} part{part}" for part in range(6))
        await put(index, Draft(f"p{number % 3}", texts, version=str(number)))
        number += 1
        print(number, flush=True)

asyncio.run(main())
"""


@asynccontextmanager
async def open_file_index(path: Path) -> AsyncIterator[EmbeddedIndex]:
    index = await open_index(path, fingerprint_of(EMBEDDER))
    try:
        yield index
    finally:
        await index.close()


def _bytes_below(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


async def test_no_byte_of_a_removed_page_is_left_once_erased(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index:
        for number in range(30):
            await put_pages(index, draft(f"p{number}", f"about zirconium {number} and more"))
        await put_pages(index, draft("secret", "the canaryword of somebody"))
        await put_pages(index, draft("secret", "what an expert wrote instead"))
        await index.erase_removals()
        found = page_ids(await ask(index, "zirconium"))
    left = _bytes_below(tmp_path)
    assert b"canaryword" not in left
    assert b"expert wrote" in left
    assert found


async def test_another_process_is_seen_whole_page_by_whole_page(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index:
        writer = _start_writer(path, pages=3)
        seen: set[str] = set()
        for _ in range(40):
            versions = await _versions(index)
            assert all(len(texts) == 6 for texts in versions.values())
            seen |= versions.keys()
        _kill(writer)
        assert len(seen) > 3


async def test_a_killed_writer_leaves_whole_pages(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    for pages in (1, 4, 9):
        _kill(_start_writer(path, pages=pages))
        async with open_file_index(path) as index:
            versions = await _versions(index)
            kept = await index.pages("acme", "it")
            assert set(versions) == {page.version for page in kept.values()}
            assert all(len(texts) == 6 for texts in versions.values())
            await put_pages(index, draft("after", "Life goes on"))
            assert page_ids(await ask(index, "life goes"))[0] == "after"
            await index.delete_pages("acme", "it", ["after"])
        _check_integrity(path)


async def test_a_file_that_is_no_database_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"not a database at all" * 500)

    with pytest.raises(IndexUnavailable, match=r"index\.sqlite.*run the ingestion again"):
        await open_index(path, None)


async def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.commit()
    connection.close()

    with pytest.raises(IndexUnavailable, match="some other program"):
        await open_index(path, None)


async def test_a_damaged_index_is_told_from_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index:
        await put_pages(index, *(draft(f"p{number}", "VPN token " * 50) for number in range(60)))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))

    with pytest.raises(IndexUnavailable, match="run the ingestion again"):
        async with open_file_index(path) as index:
            await ask(index, "VPN token")


async def test_an_absent_directory_is_named_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"absent.*Check that the directory is there"):
        await open_index(tmp_path / "absent" / "index.sqlite", None)


async def test_tables_of_another_version_are_refused_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA + 1}")
    connection.close()

    with pytest.raises(
        IndexMismatch, match=rf"has schema {schema.SCHEMA + 1}.*run the ingestion again"
    ):
        await open_index(path, None)


async def test_filters_read_no_text_of_chunks_in_older_files_either(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX chunks_by_label")
    async with open_file_index(path):
        pass

    with closing(sqlite3.connect(path)) as connection:
        question = {"label": "retired", "since": "2026-03-04T00:00:00+00:00"}
        plan = connection.execute(f"EXPLAIN QUERY PLAN {queries.FILTERED_OUT}", question)
        reads = [step for *_, step in plan if "chunks" in step]

    assert reads
    assert all("COVERING INDEX chunks_by_label" in step for step in reads)


async def test_another_schema_than_this_programs_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(IndexMismatch, match="99"):
        await open_index(tmp_path / "index.sqlite", Fingerprint("words@1", 64, 99))


async def test_a_closed_index_says_so(tmp_path: Path) -> None:
    async with open_file_index(tmp_path / "index.sqlite") as index:
        pass

    with pytest.raises(IndexUnavailable, match="is closed"):
        await ask(index, "VPN")


async def test_a_failed_write_leaves_the_old_page_and_the_index_usable(tmp_path: Path) -> None:
    async with open_file_index(tmp_path / "index.sqlite") as index:
        await put_pages(index, draft("vpn", "VPN token"), draft("other", "Leave"))
        twice = Draft("vpn", ("New text",), version="2")

        with pytest.raises(ValueError, match="already in the index"):
            await index.upsert_page(twice.page, twice.chunks * 2, None)

        assert [p.chunk.text for p in await ask(index, "VPN token", k=1)] == ["VPN token"]
        assert (await index.pages("acme", "it"))["vpn"].version == "1"


async def test_the_event_loop_runs_on_while_a_search_waits_for_nothing(tmp_path: Path) -> None:
    """A writer that holds its transaction open stops no search."""
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index:
        await put_pages(index, draft("vpn", "VPN token"))
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")

        found = await asyncio.wait_for(ask(index, "VPN"), timeout=60)

        holder.execute("ROLLBACK")
        holder.close()
        assert page_ids(found) == ["vpn"]


async def test_a_reader_that_missed_more_than_is_remembered_reads_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "_REMEMBERED_REVISIONS", 10)
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index, open_file_index(path) as late:
        await put_pages(index, draft("gone", "VPN token"))
        assert page_ids(await ask(late, "VPN")) == ["gone"]
        await index.delete_pages("acme", "it", ["gone"])
        await put_pages(index, *(draft("vpn", f"VPN token {number}") for number in range(40)))

        assert page_ids(await ask(late, "VPN")) == ["vpn"]
        assert _count(path, "removals") < 20


async def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index, open_file_index(path) as late:
        await put_pages(index, *(draft(f"p{number}", "VPN token") for number in range(20)))
        await ask(late, "VPN")
        statements: list[str] = []
        await put_pages(index, draft("new", "VPN token"))

        connection = late._reading  # noqa: SLF001 - what is read is the fact to prove
        connection.set_trace_callback(statements.append)
        assert len(await ask(late, "VPN", k=50)) == 21

        (vectors,) = [text for text in statements if "FROM places JOIN vectors" in text]
        assert vectors.endswith("revision > 20")


def _start_writer(path: Path, pages: int) -> subprocess.Popen[str]:
    root = Path(__file__).parents[4]
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER_PROGRAM, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    assert writer.stdout is not None
    while int(writer.stdout.readline()) < pages:
        pass
    return writer


def _kill(writer: subprocess.Popen[str]) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.communicate()


async def _versions(index: EmbeddedIndex) -> dict[str, list[str]]:
    """The texts found, by the version of their page."""
    found = await ask(index, "VPN", k=100)
    versions: dict[str, list[str]] = {}
    for passage in found:
        assert "vector" in passage.signals
        _, version, _ = passage.chunk.text.split()
        versions.setdefault(version.removeprefix("version"), []).append(passage.chunk.text)
    return versions


def _check_integrity(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    connection.close()
    assert _count(path, "chunks") == _count(path, "places") == _count(path, "vectors")


def _count(path: Path, table: str) -> int:
    connection = sqlite3.connect(path)
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    connection.close()
    return int(count)


EAST, NORTH = np.eye(2, dtype=np.float32)
OPEN, CLOSED = 1, 2


def table(*chunks: tuple[int, int, int, Vectors]) -> VectorTable:
    filled = VectorTable(2)
    for chunk, page, scope, vector in chunks:
        filled.put(chunk, page, scope, vector)
    return filled


def test_the_nearest_come_first_with_their_cosines() -> None:
    filled = table((1, 1, OPEN, NORTH), (2, 2, OPEN, EAST))

    assert filled.nearest(EAST, [OPEN], [], k=5) == [(2, 1.0), (1, 0.0)]


def test_only_permitted_scopes_and_pages_are_searched() -> None:
    filled = table((1, 1, OPEN, EAST), (2, 2, CLOSED, EAST), (3, 3, OPEN, NORTH))

    assert filled.nearest(EAST, [OPEN], [1], k=5) == [(3, 0.0)]
    assert filled.nearest(EAST, [], [], k=5) == []
    assert filled.nearest(EAST, [99, 0, -1], [], k=5) == []


def test_an_empty_table_finds_nothing() -> None:
    assert VectorTable(2).nearest(EAST, [OPEN], [], k=5) == []
    assert VectorTable(0).cosines(EAST, [1, 2]) == {}


def test_cosines_are_those_of_the_chunks_it_knows() -> None:
    assert table((1, 1, OPEN, EAST)).cosines(EAST, [1, 2]) == {1: 1.0}


def test_equal_cosines_are_in_the_order_of_chunk_numbers() -> None:
    filled = table(*((number, 1, OPEN, EAST) for number in (5, 3, 9)))

    assert [chunk for chunk, _ in filled.nearest(EAST, [OPEN], [], k=3)] == [3, 5, 9]


CHANGES = st.lists(
    st.tuples(st.booleans(), st.integers(1, 8), st.sampled_from([OPEN, CLOSED])), max_size=60
)


@given(CHANGES)
def test_after_any_changes_it_holds_what_was_put_and_not_removed(
    changes: list[tuple[bool, int, int]],
) -> None:
    filled = VectorTable(2)
    expected: dict[int, int] = {}
    for put, chunk, scope in changes:
        if put:
            filled.put(chunk, chunk, scope, EAST)
            expected[chunk] = scope
        else:
            filled.remove(chunk)
            expected.pop(chunk, None)

    assert len(filled) == len(expected)
    for scope in (OPEN, CLOSED):
        found = {chunk for chunk, _ in filled.nearest(EAST, [scope], [], k=20)}
        assert found == {chunk for chunk, kept in expected.items() if kept == scope}


def test_it_grows_beyond_its_first_room() -> None:
    filled = table(*((number, 1, OPEN, NORTH) for number in range(1, 3001)))
    filled.put(3001, 1, OPEN, EAST)

    assert filled.nearest(EAST, [OPEN], [], k=1) == [(3001, 1.0)]
    assert len(filled) == 3001


def unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def drawn(tokens: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((tokens, 64)).astype(np.float32)
    return unit(vectors)


def signs(vectors: Vectors) -> TokenSigns:
    packed: TokenSigns = np.packbits(vectors > 0, axis=1)
    return packed


def test_each_token_of_the_question_counts_by_its_nearest() -> None:
    question = unit(np.where(drawn(3, seed=1) > 0, 1, -1).astype(np.float32))
    other = signs(drawn(9, seed=2))

    whole, part, none = token_similarity(
        question, [signs(question), np.concatenate([signs(question[:2]), other]), other]
    )

    assert whole == pytest.approx(1.0)
    assert whole > part > none


def test_the_order_is_that_of_the_true_cosines() -> None:
    question = drawn(5, seed=3)
    noise = drawn(5, seed=4)
    chunks = [unit(question + share * noise) for share in (0.2, 0.8, 2.0, 8.0)]

    near = token_similarity(question, [signs(chunk) for chunk in chunks])

    assert near == sorted(near, reverse=True)


def test_chunks_of_any_length_are_kept_apart() -> None:
    question = drawn(2, seed=5)
    chunks = [signs(drawn(length, seed=length)) for length in (1, 40, 3)]

    together = token_similarity(question, chunks)

    assert together == [token_similarity(question, [chunk])[0] for chunk in chunks]


@pytest.mark.parametrize(("asked", "written"), [(1, 1), (1, 200), (12, 1), (12, 200), (250, 250)])
def test_long_and_short_texts_are_compared_token_by_token(asked: int, written: int) -> None:
    question, packed = drawn(asked, seed=6), signs(drawn(written, seed=7))
    directions = np.unpackbits(packed, axis=1) * 2.0 - 1
    cosines = question @ directions.T / np.sqrt(directions.shape[1])

    (near,) = token_similarity(question, [packed])

    assert near == pytest.approx(cosines.max(axis=1).mean(), abs=1e-5)


async def spellings(index: EmbeddedIndex, word: str) -> tuple[Spelling, ...]:
    found = await index.similar_words(Question(word, "acme"), frozenset({EVERYONE}), [word])
    return found[word]


async def test_a_file_of_before_gets_its_spellings_on_opening(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    older = await open_index(path, None)
    await put_pages(older, Draft("a", ("The printer.",)), vectors=False)
    await older.close()
    with closing(sqlite3.connect(path)) as file:
        for name in ("spellings_of_new_chunk", "spellings_of_old_chunk"):
            file.execute(f"DROP TRIGGER {name}")
        file.execute("DROP TABLE terms")
        file.execute("DROP TABLE spellings")

    index = await open_index(path, None)

    assert await spellings(index, "prnter") == (Spelling("printer", 1),)
    await index.delete_pages("acme", "it", ["a"])
    assert await spellings(index, "prnter") == ()
    await index.close()


async def test_a_file_of_before_gets_revisions_of_its_spaces_on_opening(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    async with open_file_index(path) as index:
        await put_pages(index, draft("vpn", "VPN"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE space_revisions")

    async with open_file_index(path) as index:
        before = await index.revision("acme", None, frozenset({EVERYONE}))
        await put_pages(index, draft("leave", "Leave"))

        assert await index.revision("acme", None, frozenset({EVERYONE})) != before


async def test_readers_of_the_same_pages_share_a_revision(tmp_path: Path) -> None:
    ann, ben = Principal("user:ann"), Principal("user:ben")
    async with open_file_index(tmp_path / "index.sqlite") as index:
        await put_pages(index, draft("vpn", "VPN"))
        of_ann = await index.revision("acme", None, frozenset({EVERYONE, ann}))
        assert await index.revision("acme", None, frozenset({EVERYONE, ben})) == of_ann

        await put_pages(index, Draft("note", ("Note",), readers=(frozenset({ann}),)))
        of_ann = await index.revision("acme", None, frozenset({EVERYONE, ann}))
        assert await index.revision("acme", None, frozenset({EVERYONE, ben})) != of_ann


async def test_a_word_of_every_breadcrumb_has_few_titles_and_headings_read(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    index = await open_index(path, None)
    whole = Draft("a", ("Call us.",) * 2 * MOST_NAMED, space="router", title="Office")
    chunks = [
        replace(chunk, breadcrumb=("router", "Office", f"Room {chunk.ordinal}"))
        for chunk in whole.chunks
    ]
    await index.upsert_page(whole.page, chunks, None)
    long = "Plug the cable in, then wait for the light to turn green. " * 20
    await put_pages(index, Draft("b", (long,), space="router", title="Router"), vectors=False)
    await index.close()
    read: list[tuple[object, ...]] = []

    def counted(_: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        read.append(row)
        return row

    with closing(sqlite3.connect(path)) as file:
        every = {"scopes": "[1]", "excluded": "[]", "source_type": None}
        file.row_factory = counted
        named = Terms(file).name_in(["router"], every)

    assert named == {"router"}
    assert 0 < len(read) <= MOST_NAMED + 50
