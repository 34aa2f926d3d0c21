"""Restrictions answered in part, or of people without an id, are never taken for none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from ingestion.confluence.client.payloads import Content, marks_of
from ingestion.confluence.wiki import PageMarks, Subjects
from ingestion.errors import NotVisible
from tests.unit.ingestion.confluence.client.local_servers import listing, reading, scripted_server

ANN = {"type": "known", "accountId": "ann"}
BOB = {"accountId": "bob"}
GONE = {"type": "unknown", "displayName": "Former user"}
Told = dict[str, Any]


def named(users: Sequence[Told] = (), groups: Sequence[Told] = (), limit: int = 200) -> Told:
    return {
        "user": {"results": list(users), "limit": limit},
        "group": {"results": list(groups), "limit": limit},
    }


def page(restrictions: object, labels: object = ()) -> Told:
    return {
        "id": "5",
        "type": "page",
        "restrictions": {"read": {"restrictions": restrictions}},
        "metadata": {"labels": {"results": labels}},
    }


def test_what_is_told_whole_is_taken() -> None:
    labels = [{"name": "vpn", "prefix": "global"}, {"name": "favourite", "prefix": "my"}]
    told = marks_of(
        Content.model_validate(page(named([ANN], [{"id": "g", "name": "staff"}]), labels))
    )

    readers = Subjects(users=frozenset({"ann"}), groups=frozenset({"g"}))
    assert told == PageMarks(id="5", readers=readers, labels=("vpn",))


@pytest.mark.parametrize(
    "told",
    [
        page(named([GONE])),
        page(named([ANN, GONE])),
        page(named(groups=[{"name": ""}])),
        page(named([ANN], limit=1)),
        {"id": "5", "type": "page"},
        {**page(named()), "restrictions": {}},
        {**page(named()), "metadata": {}},
    ],
    ids=[
        "only unnamed",
        "some unnamed",
        "a group unnamed",
        "more may follow",
        "nothing",
        "no restrictions",
        "no labels",
    ],
)
def test_what_is_not_told_whole_is_not_taken_for_all(told: Told) -> None:
    assert marks_of(Content.model_validate(told)) is None


async def read_singly(parts: Sequence[Told]) -> PageMarks:
    """Return the marks of a page whose restriction comes in these parts."""
    left = list(parts)

    async def answer(request: web.Request) -> web.Response:
        if "restriction" in request.path:
            return web.json_response({"restrictions": left.pop(0)})
        return listing()

    async with scripted_server(answer) as site, reading(site.url) as wiki:
        return await wiki.marks_of("5")


@pytest.mark.parametrize(
    ("parts", "users"),
    [
        ([named([ANN, GONE])], {"ann"}),
        ([named([ANN], limit=1), named([BOB], limit=1), named(limit=1)], {"ann", "bob"}),
        ([named([ANN], limit=1)] * 600, {"ann"}),
    ],
    ids=["beside others without an id", "in parts", "without end"],
)
async def test_a_restriction_is_for_all_who_are_named(parts: list[Told], users: set[str]) -> None:
    assert (await read_singly(parts)).readers.users == users


async def test_a_page_for_people_without_an_id_is_for_nobody() -> None:
    with pytest.raises(NotVisible, match="who may read 5"):
        await read_singly([named([GONE])])
