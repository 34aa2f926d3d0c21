"""``orderby``: by fields and score, nulls first going up, ties by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tests.search_service import edm
from tests.search_service.corpus import Corpus
from tests.search_service.errors import bad_parameter
from tests.search_service.ranking import ordered

_SCORE = "search.score()"
_MOST = 32


def order_by(clauses: Sequence[str], scores: Mapping[int, float], corpus: Corpus) -> list[int]:
    """Return the rows in the order asked for; without one, by score."""
    if len(clauses) > _MOST:
        raise bad_parameter(f"orderby has at most {_MOST} clauses.")
    rows = ordered(scores, corpus.keys)
    for clause in reversed(clauses):
        name, descending = _read(clause, corpus)
        rows.sort(key=partial(_value, name, scores, corpus), reverse=descending)
    return rows


def _read(clause: str, corpus: Corpus) -> tuple[str, bool]:
    name, _, direction = clause.partition(" ")
    if direction.strip() not in {"", "asc", "desc"}:
        raise bad_parameter(f"Invalid expression: {clause!r} in orderby.", detail="InvalidOrderBy")
    field = corpus.fields.get(name)
    if name != _SCORE and (field is None or not field.sortable):
        raise bad_parameter(f"The field {name!r} is not sortable.", detail="FieldNotSortable")
    return name, direction.strip() == "desc"


def _value(name: str, scores: Mapping[int, float], corpus: Corpus, row: int) -> tuple[bool, Any]:
    if name == _SCORE:
        return True, scores[row]
    value = edm.comparable(corpus.fields[name].type, corpus.documents[row].get(name))
    return value is not None, 0 if value is None else value
