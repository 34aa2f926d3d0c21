"""Colleagues and groups are found in a directory, over HTTP, within its limits."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.graph import Graph
from ingestion.confluence.permissions import group_principal, user_principal
from ingestion.confluence.person_finder import (
    EmailFinder,
    EntraFinder,
    FirstMatchFinder,
    GroupIds,
    PersonFinder,
    Principals,
    open_finder,
)
from ingestion.confluence.wiki import Wiki, normalized_email
from ingestion.errors import DirectoryInvalid, DirectoryUnavailable, WikiUnavailable
from rag.retrying import RetryPolicy
from tests.fakes.confluence.faults import ANY, unavailable
from tests.fakes.confluence.memory_wiki import wiki_settings
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.microsoft_graph import TOKEN, LocalGraph

ANN = "ann@acme.example"
BOB = "bob@acme.example"
ONCE = RetryLimits(attempts=1)


@dataclass
class Joined:
    """A site where Ann shows her address and Bob hides his, over HTTP."""

    site: Site
    server: LocalConfluence
    wiki: Wiki

    @property
    def cloud(self) -> bool:
        return self.server.edition == "cloud"

    def account(self, handle: str) -> str:
        person = self.site.people[handle]
        return person.account_id if self.cloud else person.user_key

    def principals(self, handle: str | None, *groups: str) -> Principals:
        known = {user_principal(self.account(handle))} if handle else set()
        ids = (self.site.groups[name].id if self.cloud else name for name in groups)
        return frozenset(known | {group_principal(one) for one in ids})


@pytest.fixture(params=["cloud", "data-center"])
async def joined(request: pytest.FixtureRequest) -> AsyncIterator[Joined]:
    edition: Edition = request.param
    site = Site()
    site.add_person("ann", email=ANN, email_shown=True)
    site.add_person("bob", email=BOB)
    site.add_group("staff", ["ann", "bob", ADMIN])
    site.add_group("the board, really", ["ann"])
    site.add_group("readers")
    person = site.people[ADMIN]
    async with LocalConfluence(site, edition).serving() as server:
        wiki = open_wiki(
            url=server.url,
            token=person.token,
            email=person.email if edition == "cloud" else None,
            edition=edition,
            patience=ONCE,
        )
        yield Joined(site, server, wiki)
        await wiki.close()


async def found(joined: Joined, email: str, directory: Path | None = None) -> Principals | None:
    settings = wiki_settings(joined.server, directory=None if directory is None else str(directory))
    async with open_finder(settings, joined.wiki) as finder:
        return await finder.find(email)


async def test_the_file_says_account_and_groups(joined: Joined, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        f"email,account,groups\n{BOB},{joined.account('bob')},staff;readers;no such group\n"
    )

    assert await found(joined, BOB, path) == joined.principals("bob", "staff", "readers")


async def test_without_a_column_of_groups_confluence_is_asked(
    joined: Joined, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"email,account\n{ANN},{joined.account('ann')}\n")

    expected = joined.principals("ann", "staff", "the board, really")
    assert await found(joined, ANN, path) == expected


async def test_who_is_not_in_the_file_is_found_by_the_address_they_show(
    joined: Joined, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("email,account\n")

    for directory in (path, None):
        ann = await found(joined, ANN, directory)
        expected = joined.principals("ann", "staff", "the board, really")
        assert ann == (expected if joined.cloud else None)
        assert await found(joined, BOB, directory) is None


async def test_a_broken_file_finds_nobody_by_another_way(joined: Joined, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("email,account,groups\nann,1,\n")

    with pytest.raises(DirectoryInvalid, match="line 2"):
        await found(joined, ANN, path)


async def token() -> str:
    return TOKEN


def in_entra(joined: Joined, graph: Graph) -> PersonFinder:
    ids = GroupIds(joined.wiki, seconds=600, clock=time.monotonic)
    return FirstMatchFinder(
        [EntraFinder(graph.groups_of, joined.wiki, ids), EmailFinder(joined.wiki)]
    )


async def test_groups_of_entra_count_by_their_names(joined: Joined) -> None:
    local = LocalGraph({ANN: ["readers", "Sales EMEA"], BOB: ["staff", "readers"]})
    async with local.serving():
        graph = Graph(token, origin=local.origin)
        finder = in_entra(joined, graph)

        shown = joined.principals("ann", "readers", "staff", "the board, really")
        hidden = joined.principals(None, "readers")
        assert await finder.find(ANN) == (shown if joined.cloud else hidden)
        assert await finder.find(BOB) == joined.principals(None, "staff", "readers")
        asked = joined.server.count("group") + joined.server.count("groups")
        await finder.find(BOB)
        assert joined.server.count("group") + joined.server.count("groups") == asked
        await graph.close()


async def test_trouble_is_raised_and_never_taken_for_fewer_groups(
    joined: Joined, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"email,account,groups\n{BOB},{joined.account('bob')},staff;readers\n")
    joined.server.faults.fail_always(ANY, unavailable())

    with pytest.raises(WikiUnavailable):
        await found(joined, BOB, path)


HASTY = RetryPolicy(first_wait_seconds=0.01, longest_wait_seconds=0.01, jitter_seconds=0.0)


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


@pytest.mark.parametrize(
    ("one", "other"), [(" Ann@Acme.Example\n", "ann@acme.example"), ("ÄNN@x.de", "änn@x.de")]
)
def test_case_and_blanks_around_make_no_difference(one: str, other: str) -> None:
    assert normalized_email(one) == normalized_email(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann@straße.example", "ann@strasse.example"),
        ("\u212aarl@acme.example", "karl@acme.example"),
        ("\u017fam@acme.example", "sam@acme.example"),
        ("i\u0307da@acme.example", "ida@acme.example"),
        ("\u0130da@acme.example", "ida@acme.example"),
        ("\u0131da@acme.example", "ida@acme.example"),
        ("ﬁn@acme.example", "fin@acme.example"),
        ("ann+it@acme.example", "ann@acme.example"),
        ("ann@acme.example", "\uff41nn@acme.example"),
    ],
)
def test_letters_that_only_look_or_sort_alike_are_other_people(one: str, other: str) -> None:
    assert normalized_email(one) != normalized_email(other)


@given(st.text())
def test_what_was_folded_stays_as_it_is(email: str) -> None:
    assert normalized_email(normalized_email(email)) == normalized_email(email)
