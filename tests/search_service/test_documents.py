"""Batches that are refused as a whole, and values that are taken or not."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.search.documents.aio import SearchClient

from tests.search_service.documents import apply_batch, read_batch
from tests.search_service.errors import Json, Refused
from tests.search_service.example import index_of, page
from tests.search_service.schema import read_schema

SCHEMA = read_schema(index_of("kb").as_dict())


def write(written: dict[str, Json], *actions: Json) -> list[int]:
    batch = read_batch({"value": list(actions)}, SCHEMA)
    return [each.status for each in apply_batch(batch, written, SCHEMA, lambda _: None)]


@pytest.mark.parametrize(
    "document",
    [
        page("a", unknown=1),
        {"content": "no key"},
        page(""),
        page("a/b"),
        page("a b"),
        page("_a"),
        page("ü"),
        page("a", version="1"),
        page("a", version=1.5),
        page("a", version=2**31),
        page("a", labels="one"),
        page("a", labels=[None]),
        page("a", open="true"),
        page("a", updated="2026-01-01T00:00:00"),
        page("a", updated="yesterday"),
        page("a", embedding=[1.0]),
        page("a", embedding=[1.0, 0.0, "x"]),
        {"@search.action": "replace", "id": "a"},
    ],
    ids=repr,
)
def test_one_wrong_action_refuses_the_whole_batch(document: Json) -> None:
    with pytest.raises(Refused) as refused:
        write({}, page("good"), document)

    assert refused.value.status == 400


def test_a_merge_keeps_what_it_does_not_say_and_an_upload_keeps_nothing() -> None:
    written: dict[str, Json] = {}
    write(written, page("a", "text", labels=["x"], version=1))

    write(written, {"@search.action": "merge", "id": "a", "labels": ["y"]})
    assert (written["a"]["content"], written["a"]["labels"]) == ("text", ["y"])

    write(written, page("a"))
    assert (written["a"]["version"], written["a"]["labels"]) == (None, [])


def test_dates_are_kept_in_utc() -> None:
    written: dict[str, Json] = {}
    write(written, page("a", updated="2026-01-01T02:00:00+02:00"))

    assert written["a"]["updated"] == "2026-01-01T00:00:00Z"


def test_a_term_to_filter_by_has_its_limit_and_a_text_to_search_has_none() -> None:
    long = "ü" * 16_384

    assert write({}, page("a", long), page("b", space=long)) == [201, 400]


async def test_more_than_a_thousand_actions_are_refused(client: SearchClient) -> None:
    with pytest.raises(HttpResponseError, match="1000"):
        await client.upload_documents([page(str(number)) for number in range(1001)])


@pytest.mark.parametrize("body", [{}, {"value": []}, {"value": "x"}])
def test_a_batch_without_actions_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        read_batch(body, SCHEMA)
