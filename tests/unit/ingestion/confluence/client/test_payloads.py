"""Restrictions answered in part, or of people without an id, are never taken for none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.payloads import Content, marks_of
from ingestion.confluence.wiki import PageMarks, Subjects
from ingestion.errors import NotVisible
from tests.unit.ingestion.confluence.client.conftest import HASTY
from tests.unit.ingestion.confluence.client.local_servers import listing, scripted_server

ANN = {"type": "known", "accountId": "ann"}
GONE = {"type": "unknown", "displayName": "Former user"}
Told = dict[str, Any]


def named(users: Sequence[Told] = (), groups: Sequence[Told] = (), limit: int = 200) -> Told:
    return {
        "user": {"results": list(users), "limit": limit},
        "group": {"results": list(groups), "limit": limit},
    }


def content(restrictions: object, labels: object = ()) -> Content:
    told = {
        "id": "5",
        "type": "page",
        "restrictions": {"read": {"restrictions": restrictions}},
        "metadata": {"labels": {"results": labels}},
    }
    return Content.model_validate(told)


def test_what_is_told_whole_is_taken() -> None:
    labels = [{"name": "vpn", "prefix": "global"}, {"name": "favourite", "prefix": "my"}]
    told = marks_of(content(named([ANN], [{"id": "g", "name": "staff"}]), labels))

    readers = Subjects(users=frozenset({"ann"}), groups=frozenset({"g"}))
    assert told == PageMarks(id="5", readers=readers, labels=("vpn",))


@pytest.mark.parametrize(
    "restrictions",
    [
        named([GONE]),
        named([ANN, GONE]),
        named(groups=[{"name": ""}]),
        named([ANN], limit=1),
    ],
    ids=["only unnamed", "some unnamed", "a group unnamed", "more may follow"],
)
def test_what_may_not_be_all_is_not_taken(restrictions: Told) -> None:
    assert marks_of(content(restrictions)) is None


@pytest.mark.parametrize(
    "told",
    [
        {"id": "5", "type": "page"},
        {"id": "5", "type": "page", "restrictions": {}, "metadata": {"labels": {"results": []}}},
        {"id": "5", "type": "page", "restrictions": {"read": {"restrictions": named()}}},
    ],
    ids=["nothing", "no restrictions", "no labels"],
)
def test_what_was_not_told_is_not_taken_for_none(told: Told) -> None:
    assert marks_of(Content.model_validate(told)) is None


async def read_singly(parts: Sequence[Told]) -> PageMarks:
    """Return the marks of a page whose restriction comes in these parts."""
    left = list(parts)

    async def answer(request: web.Request) -> web.Response:
        if "restriction" in request.path:
            return web.json_response({"restrictions": left.pop(0)})
        return listing()

    async with scripted_server(answer) as site:
        wiki = open_wiki(url=site.url, token="t", edition="cloud", patience=HASTY)
        try:
            return await wiki.marks_of("5")
        finally:
            await wiki.close()


async def test_a_page_for_people_without_an_id_is_for_nobody() -> None:
    with pytest.raises(NotVisible, match="who may read 5"):
        await read_singly([named([GONE])])


async def test_people_without_an_id_are_left_out_beside_others() -> None:
    assert (await read_singly([named([ANN, GONE])])).readers.users == {"ann"}


async def test_parts_of_a_restriction_are_put_together() -> None:
    bob = {"accountId": "bob"}

    told = await read_singly([named([ANN], limit=1), named([bob], limit=1), named(limit=1)])

    assert told.readers.users == {"ann", "bob"}


async def test_a_restriction_without_end_is_for_those_told_so_far() -> None:
    told = await read_singly([named([ANN], limit=1)] * 600)

    assert told.readers.users == {"ann"}
