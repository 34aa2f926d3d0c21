"""Tests of whether a passage may be read, by a real index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadableInIndex, visibility_in
from bot.domain.interactions import Interaction, Outcome, Reply, Route, Trace
from bot.domain.messages import FoundPassage, Intent
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.search_scope import PlannedSearch
from rag.types import EVERYONE, Page, Principal, Readers
from tests.fakes.builders import ALL, NOON, chunk, message

HR: Readers = (frozenset({Principal("group:hr")}),)
NOBODY: Readers = ()
COLLEAGUE = frozenset({EVERYONE})
IN_HR = frozenset({EVERYONE, Principal("group:hr")})


def recorded(chunk_id: str, page_id: str) -> FoundPassage:
    return FoundPassage(chunk_id, page_id, "", "", {})


PAY = recorded("pay", "pay.md")
VPN = recorded("vpn", "vpn.md")
SEALED = recorded("sealed", "sealed.md")


class ByPage:
    """An index that can't be asked for passages."""

    def __init__(self, index: EmbeddedIndex) -> None:
        self.spaces = index.spaces
        self.page = index.page


@pytest.fixture(params=["by passage", "by page"])
def reading(request: pytest.FixtureRequest, index: EmbeddedIndex) -> ReadableInIndex:
    chosen = index if request.param == "by passage" else ByPage(index)
    return ReadableInIndex(chosen)  # type: ignore[arg-type]  # only what it reads


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    for found, space, readers in ((VPN, "IT", ALL), (PAY, "HR", HR), (SEALED, "HR", NOBODY)):
        page = Page("default", space, found.page_id, "1", readers)
        part = chunk(
            f"All about {found.chunk_id}",
            chunk_id=found.chunk_id,
            page_id=found.page_id,
            space=space,
            readers=readers,
        )
        await opened.upsert_page(page, [part], None)
    yield opened
    await opened.close()


async def test_a_passage_of_any_space_is_given_to_its_readers(
    reading: ReadableInIndex,
) -> None:
    found = [VPN, PAY, SEALED]

    assert set(await reading.readable("default", found, COLLEAGUE)) == {"vpn"}
    may_read = await reading.readable("default", found, IN_HR)
    assert {name: each.text for name, each in may_read.items()} == {
        "vpn": "All about vpn",
        "pay": "All about pay",
    }


async def test_what_everyone_may_read_needs_no_name(reading: ReadableInIndex) -> None:
    assert set(await reading.readable("default", [VPN], frozenset())) == {"vpn"}


async def test_what_is_gone_or_anothers_may_not_be_read(
    reading: ReadableInIndex, index: EmbeddedIndex
) -> None:
    assert await reading.readable("other", [VPN], IN_HR) == {}
    assert await reading.readable("default", [recorded("old", "vpn.md")], IN_HR) == {}
    assert await reading.readable("default", [recorded("vpn", "pay.md")], IN_HR) == {}
    await index.delete_pages("default", "IT", ["vpn.md"])
    assert await reading.readable("default", [VPN], IN_HR) == {}
    assert await reading.readable("default", [], IN_HR) == {}


@pytest.mark.parametrize(("readers", "shown"), [(COLLEAGUE, False), (IN_HR, True)])
async def test_a_models_searches_are_shown_to_readers_of_all_it_read(
    reading: ReadableInIndex, readers: frozenset[Principal], *, shown: bool
) -> None:
    trace = Trace(
        Route(Intent.DOMAIN, 1.0, "rule", "How much is it?"),
        passages=(VPN, PAY),
        searches=(PlannedSearch("pay of grade seven", None, None, None, 1),),
        heard=(),
    )
    outcome, question = Outcome(Reply("Much.", "answer"), trace), message("How much is it?")
    asked = Interaction(question.interaction_id, question, "done", NOON, outcome)
    seen = await visibility_in(reading, "default", [asked], Reader(readers))

    explained = seen.explained(asked, outcome)

    assert bool(explained.trace.searches) is shown
