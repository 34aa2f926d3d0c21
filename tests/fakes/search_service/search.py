"""Answer a search: filter, text, vectors, fusion, order, facets and a SYNTHETIC ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from tests.fakes.search_service.corpus import Corpus, TextSearch, score_of
from tests.fakes.search_service.odata import evaluate
from tests.fakes.search_service.protocol import (
    Json,
    bad_parameter,
    not_simulated,
)
from tests.fakes.search_service.request import SearchRequest, VectorQuery, read_request
from tests.fakes.search_service.schema import SemanticConfiguration
from tests.fakes.search_service.text_index import Mask, query_terms

CONSTANT = 60
MOST_TEXT = 1000
"""So many of a hybrid search's text matches take part."""


def fused(lists: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the sum of reciprocal ranks of each row; a list begins with its best."""
    scores: dict[int, float] = {}
    for rows in lists:
        for place, row in enumerate(rows):
            scores[row] = scores.get(row, 0.0) + 1.0 / (CONSTANT + place)
    return scores


def ordered(scores: Mapping[int, float], keys: Sequence[str]) -> list[int]:
    """Return rows by score, ties by key: the service promises no order of ties, tests need one."""
    return sorted(scores, key=lambda row: (-round(scores[row], 9), keys[row]))


_MOST = 32


def order_by(clauses: Sequence[str], scores: Mapping[int, float], corpus: Corpus) -> list[int]:
    """Return the rows in the order asked for; without one, by score."""
    if len(clauses) > _MOST:
        raise bad_parameter(f"orderby has at most {_MOST} clauses.")
    rows = ordered(scores, corpus.keys)
    for clause in reversed(clauses):
        name, descending = _read(clause, corpus)
        rows.sort(key=partial(_value, name, corpus), reverse=descending)
    return rows


def _read(clause: str, corpus: Corpus) -> tuple[str, bool]:
    name, _, direction = clause.partition(" ")
    if direction.strip() not in {"", "asc", "desc"}:
        raise bad_parameter(f"Invalid expression: {clause!r} in orderby.", detail="InvalidOrderBy")
    field = corpus.fields.get(name)
    if field is None or not field.sortable:
        raise bad_parameter(f"The field {name!r} is not sortable.", detail="FieldNotSortable")
    return name, direction.strip() == "desc"


def _value(name: str, corpus: Corpus, row: int) -> tuple[bool, Any]:
    value = corpus.documents[row].get(name)
    return value is not None, 0 if value is None else value


_COUNT = 10


def facets_of(asked: Sequence[str], rows: Sequence[int], corpus: Corpus) -> Json:
    found = np.zeros(corpus.rows, dtype=np.bool_)
    found[list(rows)] = True
    return dict(_facet(each, found, corpus) for each in asked)


def _facet(
    asked: str, found: np.typing.NDArray[np.bool_], corpus: Corpus
) -> tuple[str, list[Json]]:
    name, _, most = asked.partition(",count:")
    field = corpus.fields.get(name)
    if field is None or not field.facetable:
        raise bad_parameter(f"The field {name!r} is not facetable.", detail="FieldNotFacetable")
    counts = sorted(corpus.columns[name].counts(found).items(), key=lambda each: str(each[0]))
    values = [{"value": value, "count": count} for value, count in counts]
    values.sort(key=lambda each: int(str(each["count"])), reverse=True)
    return name, values[: int(most or _COUNT)]


MOST = 50
_ANALYZER = "en.lucene"

Reason = Literal["maxWaitExceeded", "capacityOverloaded", "transient"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The ranker could do nothing."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Reranked:
    """Rows in their new order, what is said above them, and of each."""

    rows: Sequence[int]
    heading: Json = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)


def rerank(
    request: SearchRequest, rows: Sequence[int], corpus: Corpus, partial: Partial | None
) -> Reranked:
    """Return the best rows in the ranker's order, the rest below them as they were."""
    configuration = _configuration(request.body, corpus)
    if partial is not None and request.body.get("semanticErrorHandling") != "partial":
        raise not_simulated("semanticErrorHandling 'fail'")
    if partial is not None:
        return Reranked(rows, _said(partial))
    asked = str(request.body.get("semanticQuery") or request.search or "")
    scores = {row: _share(corpus.documents[row], configuration, asked) for row in rows[:MOST]}
    best = sorted(scores, key=lambda row: -scores[row])
    return Reranked([*best, *rows[MOST:]], scores=scores)


def _said(partial: Partial) -> Json:
    return {
        "@search.semanticPartialResponseReason": partial.reason,
        "@search.semanticPartialResponseType": "baseResults",
    }


def _configuration(body: Json, corpus: Corpus) -> SemanticConfiguration:
    name = body.get("semanticConfiguration", corpus.schema.default_semantics)
    configuration = corpus.schema.semantics.get(str(name))
    if configuration is None:
        raise bad_parameter(f"The semantic configuration {name!r} was not found in the index.")
    return configuration


def _share(document: Json, configuration: SemanticConfiguration, asked: str) -> float:
    """Return the ranker's score: how much of the question the text of a document holds."""
    wanted = set(query_terms(_ANALYZER, asked))
    names = [configuration.title, *configuration.keywords, *configuration.content]
    whole = " ".join(_joined_text(document, name) for name in names if name)
    found = wanted & set(query_terms(_ANALYZER, whole))
    return round(4 * len(found) / len(wanted), 4) if wanted else 0.0


def _joined_text(document: Json, name: str) -> str:
    value = document.get(name)
    return " ".join(value) if isinstance(value, list) else str(value or "")


@dataclass(slots=True)
class _Legs:
    """What each part of a search found: scores of text, cosines by vector and field."""

    text: dict[int, float] = field(default_factory=dict)
    vectors: list[tuple[str, dict[int, float]]] = field(default_factory=list)


def answer(body: Json, corpus: Corpus, partial: Partial | None = None) -> Json:
    """Return the reply to a search; raise Refused for one that can't be answered."""
    request = read_request(body, corpus.schema)
    allowed = _allowed(request, corpus)
    legs = _Legs()
    hybrid = bool(request.vectors)
    if request.search is not None or not hybrid:
        legs.text = _search_text(request, corpus, allowed, most=MOST_TEXT if hybrid else None)
    for query in request.vectors:
        legs.vectors.extend(_nearest(query, corpus, allowed))
    scores = _scores(legs, corpus, text=request.search is not None)
    rows = order_by(request.orderby, scores, corpus)
    ranked = rerank(request, rows, corpus, partial) if request.semantic else None
    return _reply(
        request, corpus, _Result(rows if ranked is None else ranked.rows, scores, legs, ranked)
    )


@dataclass(frozen=True, slots=True)
class _Result:
    rows: Sequence[int]
    scores: Mapping[int, float]
    legs: _Legs
    ranked: Reranked | None


def _allowed(request: SearchRequest, corpus: Corpus) -> Mask:
    if request.filter is None:
        return corpus.alive
    return np.asarray(corpus.alive & evaluate(request.filter, corpus))


def _search_text(
    request: SearchRequest, corpus: Corpus, allowed: Mask, *, most: int | None
) -> dict[int, float]:
    search = TextSearch(request.fields, corpus.texts, corpus.alive)
    found = search.find(request.search, full=request.full)
    rows = np.flatnonzero(found.rows & allowed)
    scores = {int(row): float(found.scores[row]) for row in rows}
    best = ordered(scores, corpus.keys)[:most]
    return {row: scores[row] for row in best}


def _nearest(
    query: VectorQuery, corpus: Corpus, allowed: Mask
) -> list[tuple[str, dict[int, float]]]:
    return [
        (name, dict(corpus.vectors[name].nearest(query.vector, query.k, allowed, corpus.keys)))
        for name in query.fields
    ]


def _scores(legs: _Legs, corpus: Corpus, *, text: bool) -> dict[int, float]:
    """Return one list's own scores, or those of all lists fused."""
    if not legs.vectors:
        return legs.text
    if not text and len(legs.vectors) == 1:
        return {row: score_of(cosine) for row, cosine in legs.vectors[0][1].items()}
    lists = [list(cosines) for _, cosines in legs.vectors]
    if text:
        lists.append(ordered(legs.text, corpus.keys))
    return fused(lists)


def _reply(request: SearchRequest, corpus: Corpus, result: _Result) -> Json:
    page = result.rows[request.skip :][: request.page]
    reply: Json = {}
    if request.count:
        reply["@odata.count"] = len(result.rows)
    if request.facets:
        reply["@search.facets"] = facets_of(request.facets, result.rows, corpus)
    if result.ranked is not None:
        reply.update(result.ranked.heading)
    reply.update(_next(request, len(result.rows)))
    reply["value"] = [_shown(row, request, corpus, result) for row in page]
    return reply


def _next(request: SearchRequest, found: int) -> Json:
    skip = request.skip + request.page
    wanted = found if request.top is None else min(found, request.skip + request.top)
    if request.page == 0 or skip >= wanted:
        return {}
    following = {**request.body, "skip": skip}
    if request.top is not None:
        following["top"] = request.top - request.page
    return {"@search.nextPageParameters": following}


def _shown(row: int, request: SearchRequest, corpus: Corpus, result: _Result) -> Json:
    document = corpus.documents[row]
    shown: Json = {"@search.score": result.scores[row]}
    if result.ranked is not None:
        shown.update(_judged(row, result.ranked))
    if request.debug:
        shown["@search.documentDebugInfo"] = _debug(row, result.legs)
    return {**shown, **{name: document.get(name) for name in request.select}}


def _judged(row: int, ranked: Reranked) -> Json:
    return {"@search.rerankerScore": ranked.scores[row]} if row in ranked.scores else {}


def _debug(row: int, legs: _Legs) -> Json:
    vectors = [
        {name: {"searchScore": score_of(cosines[row]), "vectorSimilarity": cosines[row]}}
        for name, cosines in legs.vectors
        if row in cosines
    ]
    text = {"searchScore": legs.text[row]} if row in legs.text else None
    return {"vectors": {"subscores": {"text": text, "vectors": vectors, "documentBoost": 1.0}}}
