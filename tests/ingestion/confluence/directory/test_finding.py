"""Colleagues are found in a real directory, over HTTP, in both editions of Confluence."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.directory.graph import Graph
from ingestion.confluence.directory.person_finder import (
    EmailFinder,
    EntraFinder,
    FirstMatchFinder,
    GroupIds,
    PersonFinder,
    Principals,
    open_finder,
)
from ingestion.confluence.errors import DirectoryInvalid, WikiUnavailable
from ingestion.confluence.permissions import group_principal, user_principal
from ingestion.confluence.wiki import Wiki
from tests.confluence.call import Edition
from tests.confluence.faults import ANY, unavailable
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.confluence.society import ADMIN
from tests.ingestion.confluence.directory.local_graph import TOKEN, LocalGraph
from tests.ingestion.confluence.settings import wiki_settings

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
    return FirstMatchFinder([EntraFinder(graph, joined.wiki, ids), EmailFinder(joined.wiki)])


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
