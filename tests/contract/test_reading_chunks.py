"""Chunks by their ids: what an answer was made of is looked at again in few requests."""

from __future__ import annotations

from rag.ports import ReadsChunks, SearchIndex
from rag.types import EVERYONE, Principal
from tests.contract.pages import Draft, put

EVERYBODY = frozenset({EVERYONE})
OF_HR = frozenset({EVERYONE, Principal("group:hr")})
GUIDE = Draft("guide", tuple(f"Step {number}" for number in range(3)))
PAY = Draft(
    "pay", ("Pay rises in May.",), space="hr", readers=(frozenset({Principal("group:hr")}),)
)
OTHERS = Draft("theirs", ("Another company's.",), tenant="other")
SEALED = Draft("sealed", ("Nobody reads this.",), readers=())
DRAFTS = (GUIDE, PAY, OTHERS, SEALED)
ALL_IDS = [chunk.id for draft in DRAFTS for chunk in draft.chunks]


async def test_chunks_of_any_space_are_given_to_those_who_may_read_them(
    index: SearchIndex,
) -> None:
    assert isinstance(index, ReadsChunks)
    await put(index, *DRAFTS)

    assert await index.chunks("acme", ALL_IDS, EVERYBODY) == {
        each.id: each for each in GUIDE.chunks
    }
    assert await index.chunks("acme", ALL_IDS, OF_HR) == {
        each.id: each for each in (*GUIDE.chunks, *PAY.chunks)
    }
    assert await index.chunks("acme", ALL_IDS, frozenset()) == {}


async def test_only_what_is_asked_for_and_still_there_is_given(index: SearchIndex) -> None:
    assert isinstance(index, ReadsChunks)
    await put(index, *DRAFTS)
    first, second, _ = (chunk.id for chunk in GUIDE.chunks)

    assert set(await index.chunks("acme", [first, "never-there", "a'b|c"], EVERYBODY)) == {first}
    assert await index.chunks("acme", [], EVERYBODY) == {}
    await index.delete_pages("acme", "it", ["guide"])
    assert await index.chunks("acme", [first, second], EVERYBODY) == {}


async def test_any_number_of_chunks_can_be_asked_for(index: SearchIndex) -> None:
    assert isinstance(index, ReadsChunks)
    long = Draft("long", tuple(f"Line {number}" for number in range(700)))
    await put(index, long)

    found = await index.chunks("acme", [chunk.id for chunk in long.chunks], EVERYBODY)

    assert found == {chunk.id: chunk for chunk in long.chunks}
