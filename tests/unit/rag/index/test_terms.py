"""Words of the embedded index are looked up within what the asker may read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.index.embedded.terms import MOST_NAMED, Terms
from rag.types import EVERYONE, Principal, Question
from tests.fakes.passages import Draft, put

STAFF = Principal("group:staff")
ALL = frozenset({EVERYONE})
HIDDEN = (frozenset({STAFF}),)


async def similar(index: EmbeddedIndex, text: str, *readers: Principal) -> dict[str, set[str]]:
    words = text.split()
    found = await index.similar_words(Question(text, "acme"), frozenset({*ALL, *readers}), words)
    return {word: {each.word for each in spellings} for word, spellings in found.items()}


async def names(index: EmbeddedIndex, text: str, *readers: Principal) -> frozenset[str]:
    readable = frozenset({*ALL, *readers})
    return await index.name_in(Question(text, "acme"), readable, text.split())


@pytest.fixture
async def index(tmp_path: Path) -> EmbeddedIndex:
    return await open_index(tmp_path / "index.sqlite", None)


async def test_a_word_is_read_as_a_word_of_readable_chunks_alone(index: EmbeddedIndex) -> None:
    open_page = Draft("a", ("The printer is on the first floor.",), title="Floors")
    secret = Draft("b", ("The acquisition of Kestrel.",), title="Secret", readers=HIDDEN)
    await put(index, open_page, secret, vectors=False)

    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    assert await similar(index, "kestrl acquisiton") == {"kestrl": set(), "acquisiton": set()}
    assert await similar(index, "kestrl", STAFF) == {"kestrl": {"kestrel"}}


async def test_a_word_is_read_within_the_source_type_that_is_searched(
    index: EmbeddedIndex,
) -> None:
    wiki = Draft("a", ("The kestrel.",), title="Kestrel", source_type="confluence")
    upload = Draft("b", ("The printer.",), title="Printer", source_type="upload")
    await put(index, wiki, upload, vectors=False)
    question = Question("kestrl prnter", "acme", source_type="upload")

    found = await index.similar_words(question, ALL, ["kestrl", "prnter"])

    assert {word: [each.word for each in likely] for word, likely in found.items()} == {
        "kestrl": [],
        "prnter": ["printer"],
    }
    assert await index.name_in(question, ALL, ["kestrel", "printer"]) == {"printer"}


async def test_a_word_on_a_hidden_page_alone_counts_as_unknown(index: EmbeddedIndex) -> None:
    hidden = Draft("b", ("The prnter code name.",), readers=HIDDEN)
    await put(index, Draft("a", ("The printer.",)), hidden, vectors=False)

    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    assert await similar(index, "prnter", STAFF) == {}


async def test_a_known_word_is_left_out_in_any_form_and_in_halves(index: EmbeddedIndex) -> None:
    await put(index, Draft("a", ("Printers. The office Wi-Fi. A wiki.",)), vectors=False)

    assert await similar(index, "printer wifi") == {}


async def test_a_removed_page_takes_its_spellings_along(index: EmbeddedIndex) -> None:
    await put(index, Draft("a", ("The printer.",)), Draft("b", ("The scanner.",)), vectors=False)
    before = await similar(index, "prnter scaner")
    await index.delete_pages("acme", "it", ["a"])

    assert before == {"prnter": {"printer"}, "scaner": {"scanner"}}
    assert await similar(index, "prnter scaner") == {"prnter": set(), "scaner": {"scanner"}}


async def test_a_file_of_before_gets_its_spellings_on_opening(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    older = await open_index(path, None)
    await put(older, Draft("a", ("The printer.",)), vectors=False)
    await older.close()
    with sqlite3.connect(path) as file:
        for name in ("spellings_of_new_chunk", "spellings_of_old_chunk"):
            file.execute(f"DROP TRIGGER {name}")
        file.execute("DROP TABLE terms")
        file.execute("DROP TABLE spellings")
    file.close()

    index = await open_index(path, None)

    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    await index.delete_pages("acme", "it", ["a"])
    assert await similar(index, "prnter") == {"prnter": set()}
    await index.close()


async def test_a_title_or_term_names_something_to_its_readers_alone(index: EmbeddedIndex) -> None:
    glossary = "| Short | Long |\n|---|---|\n| TOIL | Time off in lieu |"
    await put(index, Draft("a", (glossary,), title="Words"), vectors=False)
    await put(index, Draft("b", ("Plug it in.",), title="Router", readers=HIDDEN), vectors=False)

    assert await names(index, "toil mean") == {"toil"}
    assert await names(index, "router") == frozenset()
    assert await names(index, "router", STAFF) == {"router"}


async def test_a_heading_of_several_pages_names_nothing(index: EmbeddedIndex) -> None:
    for page in ("a", "b"):
        one = Draft(page, ("Call us.",), title=f"Page {page}")
        chunk = replace(one.chunks[0], section="Contacts", breadcrumb=("it", one.title, "Contacts"))
        await index.upsert_page(one.page, [chunk], None)
    alone = Draft("c", ("Look below.",), title="Page c")
    chunk = replace(alone.chunks[0], section="Serial", breadcrumb=("it", alone.title, "Serial"))
    await index.upsert_page(alone.page, [chunk], None)

    assert await names(index, "contacts") == frozenset()
    assert await names(index, "serial") == {"serial"}


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
    await put(index, Draft("b", (long,), space="router", title="Router"), vectors=False)
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
