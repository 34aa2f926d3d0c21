"""A model searches again in its own words, on a server that calls tools well and badly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from prompts.files import load_prompt
from rag.answer.extractive import ExtractiveComposer
from rag.errors import ModelUnavailable, ToolsRejected
from rag.index.embedded.index import open_index
from rag.models.circuit_breaker import FAILURES, CircuitBreaker
from rag.pipeline import Pipeline, Retrieval
from rag.ports import Prompt
from rag.retrying import MOST_CALLS, question_calls_left, question_limits
from rag.search_planning import (
    CALLS_FOR_ANSWER,
    MOST_SEARCHES,
    SEARCH_TOOL,
    SearchPlanner,
    merge_searches,
)
from rag.search_scope import PlannedSearch, Scope
from rag.types import EVERYONE, Principal
from tests.fakes.model_server import (
    DAYS_PROMPT,
    Answer,
    OpenAIServer,
    calls_tool,
    fails,
    open_test_model,
    rejects,
    resets,
    says,
    says_tools,
)
from tests.fakes.passages import draft, passage, put

VPN = draft("vpn", "The VPN client needs a token from the service portal.")
TOKEN = replace(
    draft("token", "Badges and keyfobs are handed out at reception in Porto."),
    space="premises",
    labels=("badge",),
    updated_at=datetime(2026, 5, 1, tzinfo=UTC),
)
SECRET = replace(
    draft("secret", "Keyfobs of the board are kept in the vault."),
    readers=(frozenset({Principal("group:board")}),),
)
EVERYBODY = Scope("acme", frozenset({EVERYONE}))
DONE = says("done")


@asynccontextmanager
async def planning(*answers: Answer) -> AsyncIterator[tuple[Pipeline, OpenAIServer]]:
    """Open a pipeline over three pages, planned by a model that gives these answers in order."""
    with TemporaryDirectory() as folder:
        index = await open_index(Path(folder) / "index.sqlite", None)
        async with open_test_model(*answers) as (model, server):
            await put(index, VPN, TOKEN, SECRET, vectors=False)
            planner = SearchPlanner(model, load_prompt("search_plan"), lambda: date(2026, 6, 1))
            yield Pipeline(index, None, ExtractiveComposer(None), planner=planner), server
        await index.close()


async def retrieve(*answers: Answer, scope: Scope = EVERYBODY) -> tuple[Retrieval, OpenAIServer]:
    async with planning(*answers) as (pipeline, server):
        return await pipeline.retrieve("Where do I get a VPN token?", scope), server


def pages(found: Retrieval) -> set[str]:
    return {each.chunk.page_id for each in found.passages}


def sent(server: OpenAIServer, request: int) -> str:
    return json.dumps(server.seen[request].body["messages"])


async def test_a_search_of_the_model_adds_what_it_finds() -> None:
    found, server = await retrieve(calls_tool({"query": "keyfobs reception"}), DONE)

    assert pages(found) == {"vpn", "token"}
    assert found.searches == (PlannedSearch("keyfobs reception", None, None, None, 1),)
    assert [call.purpose for call in found.calls] == ["search_plan", "search_plan"]
    assert "handed out at reception" not in sent(server, 0)
    assert "handed out at reception" in sent(server, 1)
    assert server.seen[1].roles[-2:] == ["assistant", "tool"]


async def test_the_model_sees_what_was_found_and_may_leave_it_at_that() -> None:
    found, server = await retrieve(DONE)

    assert pages(found) == {"vpn"}
    assert not found.searches
    assert "The VPN client needs a token" in sent(server, 0)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        ({"space": "premises"}, 1),
        ({"space": "it"}, 0),
        ({"label": "badge"}, 1),
        ({"label": "other"}, 0),
        ({"changed_since": "2026-05-01"}, 1),
        ({"changed_since": "2026-05-02"}, 0),
        ({"space": "", "label": "null", "changed_since": None}, 1),
    ],
)
async def test_a_search_can_be_narrowed(narrowing: dict[str, object], expected: int) -> None:
    found, _ = await retrieve(calls_tool({"query": "keyfobs", **narrowing}), DONE)

    assert [each.found for each in found.searches] == [expected]


@pytest.mark.parametrize("arguments", [{}, {"space": "premises"}, {"space": "secret"}])
async def test_a_search_never_leaves_the_scope(arguments: dict[str, object]) -> None:
    scope = replace(EVERYBODY, spaces=frozenset({"it"}))

    found, server = await retrieve(
        calls_tool({"query": "keyfobs board vault", **arguments}), DONE, scope=scope
    )

    assert pages(found) == {"vpn"}
    assert "vault" not in sent(server, 1).split('"role": "tool"')[1]
    assert "premises" not in sent(server, 0)


async def test_no_more_searches_are_made_than_agreed() -> None:
    queries = (f"keyfobs {number}" for number in count())

    def some(searches: int) -> Answer:
        return calls_tool(*({"query": next(queries)} for _ in range(searches)))

    one_by_one, server = await retrieve(*(some(1) for _ in range(9)))
    assert len(one_by_one.searches) == len(server.seen) == MOST_SEARCHES
    together, server = await retrieve(some(9))
    assert len(together.searches) == MOST_SEARCHES
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        calls_tool("{'query': keyfobs}"),
        calls_tool("[]"),
        calls_tool({"query": ""}),
        calls_tool({"query": ["keyfobs"]}),
        calls_tool({"query": "keyfobs", "space": ["it"], "label": {}}),
        calls_tool({"query": "keyfobs", "changed_since": "last week"}),
        calls_tool({"query": "keyfobs"}, name="delete_page"),
    ],
)
async def test_a_call_that_cannot_be_read_is_answered_and_not_made(answer: Answer) -> None:
    found, server = await retrieve(answer, calls_tool({"query": "keyfobs"}), DONE)

    assert [each.query for each in found.searches] == ["keyfobs"]
    assert server.seen[1].roles[-1] == "tool"


@pytest.mark.parametrize(
    "odd",
    [
        [{"function": {"name": "search_wiki", "arguments": {"query": "keyfobs"}}}],
        [
            7,
            {},
            {"id": "x"},
            {"function": {"name": "search_wiki", "arguments": '{"query": "keyfobs"}'}},
        ],
    ],
    ids=["object instead of text", "junk beside it"],
)
async def test_calls_in_a_slightly_wrong_form_are_understood(odd: object) -> None:
    found, server = await retrieve(says_tools(odd), DONE)

    assert pages(found) == {"vpn", "token"}
    messages = server.seen[1].body["messages"]
    assert isinstance(messages, list)
    assert messages[-1]["tool_call_id"] == messages[-2]["tool_calls"][0]["id"] != ""


@pytest.mark.parametrize("nothing", ["junk", {"name": "search_wiki"}, [], None])
async def test_what_is_no_call_ends_the_planning(nothing: object) -> None:
    found, server = await retrieve(says_tools(nothing))

    assert pages(found) == {"vpn"}
    assert len(server.seen) == 1


async def test_planning_leaves_the_calls_that_an_answer_needs() -> None:
    with question_limits(20):
        _, server = await retrieve(*(calls_tool({"query": f"keyfobs {n}"}) for n in range(9)))

    assert len(server.seen) == MOST_CALLS - CALLS_FOR_ANSWER


async def test_a_plan_that_is_cut_off_is_not_repaired() -> None:
    found, server = await retrieve(says("Let me think", finish_reason="length"))

    assert pages(found) == {"vpn"}
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded", "message": "123 tokens in the functions"},
        {"param": "reasoning_effort", "message": "Tools need another reasoning effort."},
    ],
    ids=["too long", "reasoning"],
)
async def test_not_every_rejection_that_names_tools_is_of_them(error: dict[str, object]) -> None:
    once = fails(400, None, type="invalid_request_error", **error)
    async with open_test_model(once, says("Yes."), reasoning_effort="none") as (model, _):
        with suppress(ModelUnavailable):
            await model.complete(_with_tools(DAYS_PROMPT))

        assert (await model.complete(_with_tools(DAYS_PROMPT))).text == "Yes."


async def test_rejected_tools_cost_the_question_no_call() -> None:
    picky = rejects("tools", "tools are not supported", says("Yes."))
    async with planning(picky) as (pipeline, _):
        with question_limits(20):
            await pipeline.retrieve("Where do I get a VPN token?", EVERYBODY)
            assert question_calls_left() == MOST_CALLS


@pytest.mark.parametrize("failure", [fails(401), fails(500), resets], ids=["401", "500", "reset"])
async def test_a_failing_model_leaves_what_was_found_until_then(failure: Answer) -> None:
    at_once, _ = await retrieve(failure)
    later, _ = await retrieve(calls_tool({"query": "keyfobs"}), failure)

    assert pages(at_once) == {"vpn"}
    assert pages(later) == {"vpn", "token"}
    assert at_once.notes
    assert later.notes
    assert len(later.calls) == 1


async def test_a_server_that_takes_no_tools_is_not_asked_again_and_again() -> None:
    picky = rejects("tools", '"auto" tool choice requires --enable-auto-tool-choice', says("Yes."))
    async with planning(picky) as (pipeline, server):
        for _ in range(FAILURES + 1):
            found = await pipeline.retrieve("Where do I get a VPN token?", EVERYBODY)

    assert pages(found) == {"vpn"}
    assert len(server.seen) == 1


async def test_rejected_tools_do_not_count_as_a_failing_model() -> None:
    picky = rejects("tools", "tools are not supported", says("Yes."))
    async with open_test_model(picky) as (opened, _):
        model = CircuitBreaker(opened)
        for _ in range(FAILURES + 1):
            with pytest.raises(ToolsRejected):
                await model.complete(_with_tools(DAYS_PROMPT))

        assert (await model.complete(DAYS_PROMPT)).text == "Yes."


async def test_without_planning_no_model_is_called() -> None:
    async with planning(DONE) as (pipeline, server):
        await pipeline.without_planning().retrieve("Where do I get a VPN token?", EVERYBODY)

    assert not server.seen


def test_merging_keeps_the_first_search_and_its_signals() -> None:
    first = tuple(passage("a", ordinal=n, signals={"vector": 0.5}) for n in range(3))
    other = tuple(passage("b", ordinal=n, signals={"vector": 0.9}) for n in (2, 7))

    merged = merge_searches(first, [other])

    assert {each.chunk.id for each in merged} == {f"page-md-{n}" for n in (0, 1, 2, 7)}
    assert merged[0].chunk.id == "page-md-2"  # found by both
    assert [each.signals for each in merged if each.chunk.id == "page-md-7"] == [{"planned": 2}]
    assert all(each.signals == {"vector": 0.5} for each in merged if each.chunk.id != "page-md-7")
    assert merge_searches(first, [()]) == first


def _with_tools(prompt: Prompt) -> Prompt:
    return replace(prompt, tools=(SEARCH_TOOL,))
