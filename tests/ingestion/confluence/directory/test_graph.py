"""Groups are read from Entra by the API as it is, over HTTP, within its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ingestion.confluence.directory.graph import Graph
from ingestion.confluence.errors import DirectoryUnavailable
from rag.retrying import RetryPolicy
from tests.ingestion.confluence.directory.local_graph import TOKEN, LocalGraph

ANN = "ann@acme.example"
HASTY = RetryPolicy(first_wait_seconds=0.01, longest_wait_seconds=0.01, jitter_seconds=0.0)


async def token() -> str:
    return TOKEN


@asynccontextmanager
async def opened(local: LocalGraph) -> AsyncIterator[Graph]:
    async with local.serving():
        graph = Graph(token, origin=local.origin, policy=HASTY)
        try:
            yield graph
        finally:
            await graph.close()


async def test_all_pages_of_groups_are_read() -> None:
    local = LocalGraph({ANN: ["a", "b", "c", "d", "e"]})
    async with opened(local) as graph:
        assert await graph.groups_of(ANN) == ["a", "b", "c", "d", "e"]
    assert len(local.asked) == 3


async def test_an_address_that_is_no_principal_name_is_looked_for_as_mail() -> None:
    local = LocalGraph({"ann-id": ["a"]}, {"o'hara@acme.example": ["ann-id"]})
    async with opened(local) as graph:
        assert await graph.groups_of("o'hara@acme.example") == ["a"]


@pytest.mark.parametrize("found", [[], ["ann-id", "bob-id"]], ids=["nobody", "several"])
async def test_who_is_not_one_person_is_nobody(found: list[str]) -> None:
    local = LocalGraph({"ann-id": ["a"], "bob-id": ["b"]}, {ANN: found})
    async with opened(local) as graph:
        assert await graph.groups_of(ANN) is None


@pytest.mark.parametrize("email", ["a/b@acme.example", "a?b#c@acme.example", "ä%2f@acme.example"])
async def test_an_odd_address_asks_for_nobody_else(email: str) -> None:
    local = LocalGraph({email: ["a"]})
    async with opened(local) as graph:
        assert await graph.groups_of(email) == ["a"]


async def test_it_is_asked_again_when_it_says_so() -> None:
    local = LocalGraph({ANN: ["a"]})
    local.troubles.extend([(429, {"Retry-After": "0"}), (503, {})])
    async with opened(local) as graph:
        assert await graph.groups_of(ANN) == ["a"]


@pytest.mark.parametrize(
    ("status", "said"), [(403, "GroupMember.Read.All"), (401, "User.Read.All"), (503, "503")]
)
async def test_trouble_says_its_cure_and_no_address(status: int, said: str) -> None:
    local = LocalGraph({ANN: ["a"]})
    local.troubles.extend([(status, {})] * 10)
    async with opened(local) as graph:
        with pytest.raises(DirectoryUnavailable, match=said) as trouble:
            await graph.groups_of(ANN)
    assert "acme" not in str(trouble.value)


async def test_the_token_goes_nowhere_else() -> None:
    other, local = LocalGraph({}), LocalGraph({ANN: ["a", "b", "c"]})
    async with other.serving(), opened(local) as graph:
        local.next_origin = other.origin
        with pytest.raises(DirectoryUnavailable, match="another address"):
            await graph.groups_of(ANN)
    assert other.asked == []


async def test_hidden_names_are_no_groups() -> None:
    async with opened(LocalGraph({ANN: [None, None]})) as graph:
        with pytest.raises(DirectoryUnavailable, match="hides the names"):
            await graph.groups_of(ANN)


async def test_no_answer_at_all_is_unavailable() -> None:
    local = LocalGraph({})
    async with local.serving():
        pass
    graph = Graph(token, origin=local.origin, policy=HASTY)
    with pytest.raises(DirectoryUnavailable, match="No answer"):
        await graph.groups_of(ANN)
    await graph.close()
