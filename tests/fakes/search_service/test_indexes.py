"""Definitions of indexes and batches of documents that the fake service takes or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.search.documents.aio import SearchClient

from tests.fakes.search_service.conftest import STRINGS, index_of, page, plain
from tests.fakes.search_service.indexes import apply_batch, read_batch
from tests.fakes.search_service.protocol import Json, Refused
from tests.fakes.search_service.schema import check_change, read_schema


def definition() -> Json:
    return dict(index_of("kb").as_dict())


def adding(**field: object) -> Callable[[Json], None]:
    return lambda index: index["fields"].append({"name": "new", "type": "Edm.String", **field})


def setting(part: str, **values: object) -> Callable[[Json], None]:
    return lambda index: index["vectorSearch"][part][0].update(values)


VECTOR = {
    "type": "Collection(Edm.Single)",
    "searchable": True,
    "dimensions": 3,
    "vectorSearchProfile": "cosine",
}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda index: index.update(name="Upper"),
        lambda index: index.update(name="a--b"),
        lambda index: index.update(name="-a"),
        lambda index: index.update(unknown=1),
        lambda index: index.update(permissionFilterOption="enabled"),
        lambda index: index["fields"].pop(0),
        lambda index: index["semantic"].update(defaultConfiguration="none"),
        adding(key=True),
        adding(name="id"),
        adding(name="1a"),
        adding(name="a-b"),
        adding(name="azureSearchA"),
        adding(type="Edm.Text"),
        adding(unknown=True),
        adding(permissionFilter="userIds"),
        adding(type="Edm.Int32", searchable=True),
        adding(type=STRINGS, sortable=True),
        adding(analyzer="en.nobody"),
        adding(searchable=False, analyzer="keyword"),
        adding(indexAnalyzer="keyword"),
        adding(stored=False),
        adding(dimensions=3),
        adding(**{**VECTOR, "dimensions": 1}),
        adding(**{**VECTOR, "dimensions": 4097}),
        adding(**{**VECTOR, "vectorSearchProfile": "none"}),
        adding(**VECTOR, filterable=True),
        adding(**VECTOR, stored=False, retrievable=True),
        setting("profiles", algorithm="none"),
        setting("profiles", compression="none"),
        setting("algorithms", kind="tree"),
        setting("algorithms", hnswParameters={"m": 3}),
        setting("algorithms", hnswParameters={"efSearch": 1001}),
    ],
)
def test_an_index_that_cant_be_is_refused(spoil: Callable[[Json], None]) -> None:
    wrong = definition()
    spoil(wrong)

    with pytest.raises(Refused) as refused:
        read_schema(wrong)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        (lambda index: index.fields.append(plain("new")), True),
        (lambda index: setattr(index.fields[3], "hidden", True), True),
        (lambda index: setattr(index.fields[3], "filterable", False), False),
        (lambda index: setattr(index.fields[1], "analyzer_name", "keyword"), False),
        (lambda index: setattr(index.fields[-1], "vector_search_dimensions", 4), False),
        (lambda index: index.fields.pop(3), False),
        (lambda index: setattr(index.vector_search.algorithms[0].parameters, "m", 8), False),
    ],
)
def test_only_what_needs_no_rebuilding_may_change(
    change: Callable[[object], None],
    allowed: bool,  # noqa: FBT001 - a table
) -> None:
    changed = index_of("kb")
    change(changed)
    old, new = read_schema(definition()), read_schema(dict(changed.as_dict()))

    if allowed:
        check_change(old, new)
    else:
        with pytest.raises(Refused, match=r"can't|cannot"):
            check_change(old, new)


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
