"""Definitions of indexes: which are refused, and which changes are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from azure.search.documents.indexes.models import SearchField

from tests.search_service.errors import Json, Refused
from tests.search_service.example import STRINGS, index_of, plain
from tests.search_service.schema import read_schema
from tests.search_service.schema_changes import check_change


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
        lambda index: index.update(defaultScoringProfile="none"),
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


def test_what_is_not_said_of_a_field_is_completed() -> None:
    index = definition()
    adding()(index)

    (field,) = [f for f in read_schema(index).definition["fields"] if f["name"] == "new"]

    flags = ("searchable", "filterable", "sortable", "facetable", "retrievable")
    assert all(field[flag] for flag in flags)
    assert not field["key"]


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


def test_a_field_of_the_vendors_model_is_read_as_it_is_sent() -> None:
    index = index_of("kb")
    index.fields.append(SearchField(name="simple", type="Edm.String", filterable=False))

    read = read_schema(dict(index.as_dict())).fields["simple"]

    assert (read.filterable, read.searchable, read.retrievable) == (False, True, True)
