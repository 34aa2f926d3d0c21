"""How many requests words cost, which chunks they are read from, and what a failure costs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from rag.answer.extractive import ExtractiveComposer
from rag.index.azure.connection import BAD_REQUEST
from rag.index.azure.index import AzureIndex
from rag.index.azure.terms import MOST_READ, spelling_query
from rag.pipeline import Pipeline
from rag.search_scope import Scope
from rag.text.spelling import Spelling
from rag.types import EVERYONE, Question
from tests.fakes.azure_index import open_test_index
from tests.fakes.passages import Draft, draft, put
from tests.fakes.search_service.service import Request, SearchService
from tests.fakes.search_service.text_index import read_full

ALL = frozenset({EVERYONE})
MANY = MOST_READ + 10
PRINTER = draft("printer", "The printer is on the first floor.")


def asked(service: SearchService) -> list[Request]:
    return [one for one in service.requests if one.body.get("search") not in {None, "*"}]


async def similar(index: AzureIndex, *words: str) -> dict[str, tuple[Spelling, ...]]:
    question = Question(" ".join(words), "acme", spaces=frozenset({"it"}))
    return dict(await index.similar_words(question, ALL, words))


async def test_all_words_of_a_question_are_one_request_within_its_filter(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, PRINTER)

    await similar(index, "prnter", "scaner", "kestrl")

    (request,) = asked(service)
    assert (request.body["queryType"], request.body["searchMode"]) == ("full", "any")
    assert request.body["top"] == MOST_READ
    for part in ("kind eq 'chunk'", "tenant eq 'acme'", "'it'", "readers_1/any"):
        assert part in request.body["filter"]


async def test_names_are_one_request_and_those_of_nobody_none(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, Draft("a", ("Plug it in.",), title="Router"))
    question = Question("the router", "acme")

    assert await index.name_in(question, ALL, ["router"]) == {"router"}
    assert await index.name_in(question, ALL, []) == frozenset()
    assert await index.name_in(question, frozenset(), ["router"]) == frozenset()

    assert len(asked(service)) == 1


async def test_chunks_with_a_similar_word_take_no_place_of_one_with_the_word(
    index: AzureIndex,
) -> None:
    await put(index, draft("many", *("Printer, printer.",) * MANY))
    await put(index, draft("one", "The code name of this is prnter. " + "More to read. " * 50))

    assert await similar(index, "prnter") == {}


async def test_a_known_word_of_many_chunks_hides_no_mistyped_word(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, draft("many", *("Okta signs you in.",) * MANY), PRINTER)

    assert await similar(index, "okta", "prnter") == {"prnter": (Spelling("printer", 1),)}
    assert ["okta" in one.body["search"] for one in asked(service)] == [True, False]


async def test_words_that_stay_hidden_after_two_requests_are_left_as_typed(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, draft("okta", *("Okta, okta, okta.",) * MANY))
    await put(index, draft("jira", *("Jira is for plans and for reports.",) * MANY), PRINTER)

    assert await similar(index, "okta", "jira", "prnter") == {}
    assert len(asked(service)) == 2


async def test_a_word_of_more_chunks_than_are_read_counts_as_in_those(index: AzureIndex) -> None:
    await put(index, draft("many", *("The printer.",) * MANY))

    assert await similar(index, "prnter") == {"prnter": (Spelling("printer", MOST_READ),)}


@given(st.lists(st.text(min_size=1, max_size=8), max_size=3))
def test_every_word_is_a_query_that_means_it(words: list[str]) -> None:
    parts = read_full(spelling_query(words))

    assert {part.text for part in parts if not part.quoted} >= set(words)
    assert all(part.errors in {None, 1, 2} for part in parts)


SCOPE = Scope("acme", ALL)


async def searched(index: AzureIndex, typed: str) -> tuple[str, Sequence[str]]:
    """Return what was searched for, and the events that were logged meanwhile."""
    pipeline = Pipeline(index, None, ExtractiveComposer(None), is_word="tower".__eq__)
    with capture_logs() as logs:
        found = await pipeline.retrieve(typed, SCOPE)
    assert [each.chunk.page_id for each in found.passages] == ["printer"]
    return found.question, [each["event"] for each in logs]


async def test_a_mistyped_question_costs_one_request_more_and_others_none(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, PRINTER)

    assert await searched(index, "the first prnter") == ("the first printer", [])
    assert len(asked(service)) == 2
    assert await searched(index, "INC0012345 Printer") == ("INC0012345 Printer", [])
    assert len(asked(service)) == 3


@pytest.mark.parametrize("status", [BAD_REQUEST, 429, 503])
async def test_a_failed_look_up_is_not_repeated_and_costs_no_answer(
    service: SearchService, index: AzureIndex, status: int
) -> None:
    await put(index, PRINTER)
    service.faults.refuse("search", status)
    before = service.count("search")

    question, logged = await searched(index, "the first prnter")

    assert (question, logged) == ("the first prnter", ["retrieval.spelling_as_typed"])
    assert service.count("search") - before == 2


async def test_a_look_up_that_hangs_is_given_up(service: SearchService) -> None:
    async with open_test_index(service, azure_search_timeout_seconds=2.0) as index:
        await put(index, PRINTER)
        service.faults.hang("search")

        question, logged = await searched(index, "the first prnter")

    assert (question, logged) == ("the first prnter", ["retrieval.spelling_as_typed"])
