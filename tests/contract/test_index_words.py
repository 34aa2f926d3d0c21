"""Words are looked up within what the asker may read and the question's filters let through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag.ports import SearchIndex
from rag.text.spelling import Spelling
from rag.types import EVERYONE, Principal, Question
from tests.contract.conftest import SPELLING
from tests.fakes.passages import Draft, put

STAFF = Principal("group:staff")
ALL = frozenset({EVERYONE})
HIDDEN = (frozenset({STAFF}),)


@pytest.fixture(params=SPELLING)
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SearchIndex]:
    async with SPELLING[request.param](tmp_path) as open_once_more:
        yield await open_once_more()


async def spellings(
    index: SearchIndex, text: str, *readers: Principal, **filters: object
) -> dict[str, set[Spelling]]:
    question = Question(text, "acme", **filters)  # type: ignore[arg-type]  # a test's
    found = await index.similar_words(question, frozenset({*ALL, *readers}), text.split())
    return {word: set(similar) for word, similar in found.items()}


async def similar(
    index: SearchIndex, text: str, *readers: Principal, **filters: object
) -> dict[str, set[str]]:
    found = await spellings(index, text, *readers, **filters)
    return {word: {each.word for each in similar} for word, similar in found.items()}


async def names(
    index: SearchIndex, text: str, *readers: Principal, **filters: object
) -> frozenset[str]:
    question = Question(text, "acme", **filters)  # type: ignore[arg-type]  # a test's
    return await index.name_in(question, frozenset({*ALL, *readers}), text.split())


async def test_a_word_is_read_as_a_word_of_readable_chunks_alone(index: SearchIndex) -> None:
    open_page = Draft("a", ("The printer is on the first floor.",), title="Floors")
    secret = Draft("b", ("The acquisition of Kestrel.",), title="Secret", readers=HIDDEN)
    await put(index, open_page, secret, vectors=False)

    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    assert await similar(index, "kestrl acquisiton") == {"kestrl": set(), "acquisiton": set()}
    assert await similar(index, "kestrl", STAFF) == {"kestrl": {"kestrel"}}


WIKI = Draft(
    "wiki",
    ("The kestrel.",),
    title="Kestrel",
    space="hr",
    source_type="confluence",
    labels=("birds",),
    updated_at=datetime(2026, 1, 1, tzinfo=UTC),
)
UPLOAD = Draft(
    "upload",
    ("The printer.",),
    title="Printer",
    source_type="upload",
    labels=("office",),
    updated_at=datetime(2026, 3, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    "filters",
    [
        {"spaces": frozenset({"it"})},
        {"source_type": "upload"},
        {"label": "office"},
        {"changed_since": datetime(2026, 2, 1, tzinfo=UTC)},
        {"excluded_pages": frozenset({"wiki"})},
    ],
    ids=["space", "source type", "label", "change", "exclusion"],
)
async def test_words_are_looked_up_in_what_the_filters_let_through(
    index: SearchIndex, filters: dict[str, object]
) -> None:
    await put(index, WIKI, UPLOAD, vectors=False)

    assert await similar(index, "kestrl prnter") == {"kestrl": {"kestrel"}, "prnter": {"printer"}}
    assert await similar(index, "kestrl prnter", **filters) == {
        "kestrl": set(),
        "prnter": {"printer"},
    }
    assert await names(index, "kestrel printer") == {"kestrel", "printer"}
    assert await names(index, "kestrel printer", **filters) == {"printer"}


async def test_no_spaces_and_no_readers_hold_no_words(index: SearchIndex) -> None:
    await put(index, UPLOAD, vectors=False)
    question = Question("prnter", "acme")

    assert await similar(index, "prnter", spaces=frozenset()) == {"prnter": set()}
    assert await names(index, "printer", spaces=frozenset()) == frozenset()
    assert await index.similar_words(question, frozenset(), ["prnter"]) == {"prnter": ()}
    assert await index.name_in(question, frozenset(), ["printer"]) == frozenset()


async def test_a_word_on_a_hidden_page_alone_counts_as_unknown(index: SearchIndex) -> None:
    hidden = Draft("b", ("The prnter code name.",), readers=HIDDEN)
    await put(index, Draft("a", ("The printer.",)), hidden, vectors=False)

    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    assert await similar(index, "prnter", STAFF) == {}


async def test_a_spelling_is_counted_in_readable_chunks_and_beside_others(
    index: SearchIndex,
) -> None:
    floor = ("The floor is on level 2.", "A floor plan of the office.", "The flour.")
    hidden = Draft("b", ("Flour for the office.",) * 4, readers=HIDDEN)
    other = Draft("c", ("Flour for the office.",) * 4, tenant="other")
    await put(index, Draft("a", floor), hidden, other, vectors=False)

    found = await spellings(index, "floir office")
    of_staff = await spellings(index, "floir office", STAFF)

    assert found == {"floir": {Spelling("floor", 2, 1), Spelling("flour", 1, 0)}}
    assert of_staff == {"floir": {Spelling("floor", 2, 1), Spelling("flour", 5, 4)}}


@pytest.mark.parametrize("typed", ["printer", "printers", "wifi", "accounts"])
async def test_a_known_word_is_left_out_in_any_form_and_in_halves(
    index: SearchIndex, typed: str
) -> None:
    texts = ("Printers. Your account's state.", "The office Wi-Fi.", "A wiki.")
    await put(index, Draft("a", texts), vectors=False)

    assert await similar(index, typed) == {}


@pytest.mark.parametrize(
    ("typed", "text", "meant"),
    [
        ("prnters", "Two printers.", "printers"),
        ("scaning", "Scanning a page.", "scanning"),
        ("instalatoin", "The installation", "installation"),
        ("priting", "Printing a page", "printing"),
        ("kestrl", "KESTREL: a bird", "kestrel"),
        ("vacatoin", "The vacation's end", "vacation"),
    ],
)
async def test_a_word_is_read_as_chunks_inflect_it(
    index: SearchIndex, typed: str, text: str, meant: str
) -> None:
    await put(index, Draft("a", (text,)), vectors=False)

    assert await similar(index, typed) == {typed: {meant}}


async def test_words_that_look_like_operators_are_words(index: SearchIndex) -> None:
    await put(index, UPLOAD, vectors=False)
    odd = ["prnter", 'pr"nter', "(prnter", "prn*er", "and", "/x/", "a\\", "o'brien:"]

    found = await index.similar_words(Question(" ".join(odd), "acme"), ALL, odd)
    named = await index.name_in(Question(" ".join(odd), "acme"), ALL, [*odd, "printer"])

    assert [each.word for each in found["prnter"]] == ["printer"]
    assert named == {"printer"}


async def test_a_removed_page_takes_its_spellings_along(index: SearchIndex) -> None:
    await put(index, Draft("a", ("The printer.",)), Draft("b", ("The scanner.",)), vectors=False)
    before = await similar(index, "prnter scaner")
    await index.delete_pages("acme", "it", ["a"])

    assert before == {"prnter": {"printer"}, "scaner": {"scanner"}}
    assert await similar(index, "prnter scaner") == {"prnter": set(), "scaner": {"scanner"}}


async def test_a_page_that_is_closed_takes_its_words_along_at_once(index: SearchIndex) -> None:
    await put(index, UPLOAD, vectors=False)
    assert await similar(index, "prnter") == {"prnter": {"printer"}}
    assert await names(index, "printer") == {"printer"}

    await index.set_readers("acme", "it", "upload", HIDDEN)

    assert await similar(index, "prnter") == {"prnter": set()}
    assert await names(index, "printer") == frozenset()


async def test_a_title_or_term_names_something_to_its_readers_alone(index: SearchIndex) -> None:
    glossary = "| Short | Long |\n|---|---|\n| TOIL | Time off in lieu |"
    await put(index, Draft("a", (glossary,), title="Words"), vectors=False)
    await put(index, Draft("b", ("Plug it in.",), title="Router", readers=HIDDEN), vectors=False)

    assert await names(index, "toil mean") == {"toil"}
    assert await names(index, "router") == frozenset()
    assert await names(index, "router", STAFF) == {"router"}


async def test_a_part_of_a_title_names_nothing(index: SearchIndex) -> None:
    await put(index, Draft("a", ("Plug it in.",), title="Router manual"), vectors=False)

    assert await names(index, "router") == frozenset()
    assert await names(index, "router manual please") == {"router", "manual"}


async def test_a_heading_of_several_pages_names_nothing(index: SearchIndex) -> None:
    for page, heading, readers in (
        ("a", "Contacts", None),
        ("b", "Contacts", None),
        ("c", "Serial", None),
        ("d", "Serial", HIDDEN),
    ):
        one = Draft(page, ("Call us.",), title=f"Page {page}")
        one = replace(one, readers=readers or one.readers)
        chunk = replace(one.chunks[0], section=heading, breadcrumb=("it", one.title, heading))
        await index.upsert_page(one.page, [chunk], None)

    assert await names(index, "contacts") == frozenset()
    assert await names(index, "serial") == {"serial"}
    assert await names(index, "serial", STAFF) == frozenset()
