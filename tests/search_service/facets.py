"""Facets: how often each value is found; counts and order only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.search_service import edm
from tests.search_service.corpus import Corpus
from tests.search_service.errors import Json, bad_parameter, not_simulated

_COUNT = 10


def facets_of(asked: Sequence[str], rows: Sequence[int], corpus: Corpus) -> Json:
    found = np.zeros(corpus.rows, dtype=np.bool_)
    found[list(rows)] = True
    return dict(_facet(each, found, corpus) for each in asked)


def _facet(
    asked: str, found: np.typing.NDArray[np.bool_], corpus: Corpus
) -> tuple[str, list[Json]]:
    name, *options = asked.split(",")
    given = dict(option.strip().split(":", 1) for option in options)
    field = corpus.fields.get(name)
    if field is None or not field.facetable:
        raise bad_parameter(f"The field {name!r} is not facetable.", detail="FieldNotFacetable")
    if set(given) - {"count", "sort"} or field.element == edm.DATE:
        raise not_simulated(f"the facet {asked!r}")
    counts = corpus.columns[name].counts(found)
    values = [{"value": value, "count": count} for value, count in counts.items()]
    values.sort(key=lambda each: str(each["value"]))
    _sort(values, given.get("sort", "count"))
    return name, values[: int(given.get("count", _COUNT))]


def _sort(values: list[Json], order: str) -> None:
    key = order.removeprefix("-")
    if key not in {"count", "value"}:
        raise bad_parameter(f"{order!r} is no order of a facet.")
    down = order in {"count", "-value"}
    values.sort(key=lambda each: each[key], reverse=down)
