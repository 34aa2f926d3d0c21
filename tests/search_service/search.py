"""A search answered: filter, text, vectors, fusion, order, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.search_service import semantic
from tests.search_service.columns import Mask
from tests.search_service.corpus import Corpus
from tests.search_service.errors import Json, bad_filter
from tests.search_service.facets import facets_of
from tests.search_service.odata import evaluate
from tests.search_service.ordering import order_by
from tests.search_service.ranking import MOST_TEXT, Ranked, fused, ordered
from tests.search_service.request import SearchRequest, VectorQuery, read_request
from tests.search_service.text import Found, TextSearch
from tests.search_service.vectors import score_of


@dataclass(slots=True)
class _Legs:
    """What each part of a search found: scores of text, cosines by vector and field."""

    text: dict[int, float] = field(default_factory=dict)
    vectors: list[tuple[str, float, dict[int, float]]] = field(default_factory=list)


def answer(body: Json, corpus: Corpus, partial: semantic.Partial | None = None) -> Json:
    """Return the reply to a search; raise Refused for one that can't be answered."""
    request = read_request(body, corpus.schema)
    allowed = _allowed(request, corpus)
    legs = _Legs()
    hybrid = bool(request.vectors)
    if request.search is not None or not hybrid:
        legs.text = _text(request, corpus, allowed, most=MOST_TEXT if hybrid else None)
    for query in request.vectors:
        legs.vectors.extend(_nearest(query, request, corpus, allowed))
    scores = _scores(legs, corpus, text=request.search is not None)
    rows = order_by(request.orderby, scores, corpus)
    ranked = semantic.rerank(request, rows, corpus, partial) if request.semantic else None
    return _reply(
        request, corpus, _Result(rows if ranked is None else ranked.rows, scores, legs, ranked)
    )


@dataclass(frozen=True, slots=True)
class _Result:
    rows: Sequence[int]
    scores: Mapping[int, float]
    legs: _Legs
    ranked: semantic.Reranked | None


def _allowed(request: SearchRequest, corpus: Corpus) -> Mask:
    if request.filter is None:
        return corpus.alive

    def matching(arguments: tuple[str, ...]) -> Mask:
        return _ismatch(arguments, corpus).rows

    return np.asarray(corpus.alive & evaluate(request.filter, corpus, matching))


def _ismatch(arguments: tuple[str, ...], corpus: Corpus) -> Found:
    names = ("search", "searchFields", "queryType", "searchMode")
    if len(arguments) > len(names):
        raise bad_filter("search.ismatch takes one, two or four parameters.")
    asked = read_request(dict(zip(names, arguments, strict=False)), corpus.schema)
    return _search_of(asked, corpus).find(asked.search)


def _search_of(request: SearchRequest, corpus: Corpus) -> TextSearch:
    return TextSearch(request.fields, corpus.texts, request.weights, corpus.alive, request.mode)


def _text(
    request: SearchRequest, corpus: Corpus, allowed: Mask, *, most: int | None
) -> dict[int, float]:
    found = _search_of(request, corpus).find(request.search)
    rows = np.flatnonzero(found.rows & allowed)
    scores = {int(row): float(found.scores[row]) for row in rows}
    best = ordered(scores, corpus.keys)[:most]
    return {row: scores[row] for row in best}


def _nearest(
    query: VectorQuery, request: SearchRequest, corpus: Corpus, allowed: Mask
) -> list[tuple[str, float, dict[int, float]]]:
    """Return neighbours by field; after a post-filter there may be fewer than k."""
    within = allowed if request.filter_mode == "preFilter" else corpus.alive
    found = []
    for name in query.fields:
        near = corpus.vectors[name].nearest(query.vector, query.k, within, corpus.keys)
        found.append((name, query.weight, {row: cosine for row, cosine in near if allowed[row]}))
    return found


def _scores(legs: _Legs, corpus: Corpus, *, text: bool) -> dict[int, float]:
    """Return one list's own scores, or those of all lists fused."""
    if not legs.vectors:
        return legs.text
    if not text and len(legs.vectors) == 1:
        return {row: score_of(cosine) for row, cosine in legs.vectors[0][2].items()}
    lists = [Ranked(list(cosines), weight) for _, weight, cosines in legs.vectors]
    if text:
        lists.append(Ranked(ordered(legs.text, corpus.keys)))
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
        shown.update(result.ranked.extras.get(row, {}))
    if request.debug:
        shown["@search.documentDebugInfo"] = _debug(row, result.legs)
    return {**shown, **{name: document.get(name) for name in request.select}}


def _debug(row: int, legs: _Legs) -> Json:
    vectors = [
        {name: {"searchScore": score_of(cosines[row]), "vectorSimilarity": cosines[row]}}
        for name, _, cosines in legs.vectors
        if row in cosines
    ]
    text = {"searchScore": legs.text[row]} if row in legs.text else None
    return {"vectors": {"subscores": {"text": text, "vectors": vectors, "documentBoost": 1.0}}}
