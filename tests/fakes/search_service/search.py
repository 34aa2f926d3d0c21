"""Answer a search: filter, text, vectors, fusion, order, facets and a SYNTHETIC ranker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from tests.fakes.search_service import protocol
from tests.fakes.search_service.corpus import Corpus, Found, TextSearch, score_of
from tests.fakes.search_service.odata import evaluate
from tests.fakes.search_service.protocol import (
    Json,
    Refused,
    bad_filter,
    bad_parameter,
    not_simulated,
)
from tests.fakes.search_service.request import SearchRequest, VectorQuery, read_request
from tests.fakes.search_service.schema import SemanticConfiguration
from tests.fakes.search_service.text_index import Mask, query_terms

CONSTANT = 60
MOST_TEXT = 1000
"""So many of a hybrid search's text matches take part."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of one search, best first."""

    rows: Sequence[int]
    weight: float = 1.0


def fused(lists: Sequence[Ranked]) -> dict[int, float]:
    """Return the sum of weighted reciprocal ranks of each row."""
    scores: dict[int, float] = {}
    for each in lists:
        for place, row in enumerate(each.rows):
            scores[row] = scores.get(row, 0.0) + each.weight / (CONSTANT + place)
    return scores


def ordered(scores: Mapping[int, float], keys: Sequence[str]) -> list[int]:
    """Return rows by score, ties by key: the service promises no order of ties, tests need one."""
    return sorted(scores, key=lambda row: (-round(scores[row], 9), keys[row]))


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
    value = protocol.comparable(corpus.fields[name].type, corpus.documents[row].get(name))
    return value is not None, 0 if value is None else value


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
    if set(given) - {"count", "sort"} or field.element == protocol.DATE:
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


MOST = 50
_ANALYZER = "en.lucene"
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_OPTION = re.compile(r"extractive(?:\|(?P<options>[a-z0-9.,-]+))?")

Reason = Literal["maxWaitExceeded", "capacityOverloaded", "transient"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The ranker could do nothing (``baseResults``), or all but captions and answers."""

    reason: Reason
    results: Literal["baseResults", "rerankedResults"] = "baseResults"


@dataclass(frozen=True, slots=True)
class Reranked:
    """Rows in their new order, what is said above them, and of each."""

    rows: Sequence[int]
    heading: Json = field(default_factory=dict)
    extras: dict[int, Json] = field(default_factory=dict)


def rerank(
    request: SearchRequest, rows: Sequence[int], corpus: Corpus, partial: Partial | None
) -> Reranked:
    """Return the best rows in the ranker's order, the rest below them as they were."""
    configuration = _configuration(request.body, corpus)
    captions, answers = _wishes(request.body)
    if partial is not None and request.body.get("semanticErrorHandling") == "fail":
        raise Refused(
            503, "SemanticRankerUnavailable", f"Semantic ranking failed: {partial.reason}"
        )
    if partial is not None and partial.results == "baseResults":
        return Reranked(rows, _said(partial))
    asked = str(request.body.get("semanticQuery") or request.search or "")
    read = {row: _Read.of(corpus.documents[row], configuration, asked) for row in rows[:MOST]}
    best = sorted(read, key=lambda row: -read[row].score)
    if partial is not None:
        return _reranked(best, rows, read, captions=False, heading=_said(partial))
    heading = {} if answers is None else {"@search.answers": _answers(best, read, corpus, answers)}
    return _reranked(best, rows, read, captions=captions, heading=heading)


def _reranked(
    best: list[int], rows: Sequence[int], read: dict[int, _Read], *, captions: bool, heading: Json
) -> Reranked:
    extras = {row: read[row].extras(captions=captions) for row in best}
    return Reranked([*best, *rows[MOST:]], heading, extras)


def _said(partial: Partial) -> Json:
    return {
        "@search.semanticPartialResponseReason": partial.reason,
        "@search.semanticPartialResponseType": partial.results,
    }


def _configuration(body: Json, corpus: Corpus) -> SemanticConfiguration:
    name = body.get("semanticConfiguration", corpus.schema.default_semantics)
    configuration = corpus.schema.semantics.get(str(name))
    if configuration is None:
        raise bad_parameter(f"The semantic configuration {name!r} was not found in the index.")
    return configuration


def _wishes(body: Json) -> tuple[bool, tuple[int, float] | None]:
    captions = _options("captions", body.get("captions", "none"))
    answers = _options("answers", body.get("answers", "none"))
    if answers is None:
        return captions is not None, None
    return captions is not None, (
        int(answers.get("count", 1)),
        float(answers.get("threshold", 0.7)),
    )


def _options(name: str, given: str) -> dict[str, str] | None:
    if given == "none":
        return None
    match = _OPTION.fullmatch(given)
    if match is None:
        raise bad_parameter(f"{given!r} is no value of {name!r}.")
    options = (match["options"] or "").split(",")
    return dict(option.split("-", 1) for option in options if "-" in option)


@dataclass(frozen=True, slots=True)
class _Read:
    """A document as the ranker sees it: how much of the question its text holds, and where."""

    score: float
    caption: str

    @classmethod
    def of(cls, document: Json, configuration: SemanticConfiguration, asked: str) -> _Read:
        wanted = set(query_terms(_ANALYZER, asked))
        names = [configuration.title, *configuration.keywords, *configuration.content]
        whole = " ".join(_joined_text(document, name) for name in names if name)
        sentences = _document_sentences(document, configuration)
        caption = max(sentences, key=lambda s: _share(wanted, s), default="")
        return cls(round(4 * _share(wanted, whole), 4), caption)

    def extras(self, *, captions: bool) -> Json:
        if not captions:
            return {"@search.rerankerScore": self.score}
        caption = {"text": self.caption, "highlights": ""}
        return {"@search.rerankerScore": self.score, "@search.captions": [caption]}


def _answers(
    best: list[int], read: dict[int, _Read], corpus: Corpus, wish: tuple[int, float]
) -> list[Json]:
    count, threshold = wish
    good = [row for row in best if read[row].score / 4 >= threshold][:count]
    return [
        {
            "key": corpus.keys[row],
            "text": read[row].caption,
            "highlights": "",
            "score": read[row].score / 4,
        }
        for row in good
    ]


def _joined_text(document: Json, name: str) -> str:
    value = document.get(name)
    return " ".join(value) if isinstance(value, list) else str(value or "")


def _document_sentences(document: Json, configuration: SemanticConfiguration) -> list[str]:
    text = "\n".join(_joined_text(document, name) for name in configuration.content)
    return [each.strip() for each in _SENTENCE.findall(text) if each.strip()]


def _share(wanted: set[str], text: str) -> float:
    found = wanted & set(query_terms(_ANALYZER, text))
    return len(found) / len(wanted) if wanted else 0.0


@dataclass(slots=True)
class _Legs:
    """What each part of a search found: scores of text, cosines by vector and field."""

    text: dict[int, float] = field(default_factory=dict)
    vectors: list[tuple[str, float, dict[int, float]]] = field(default_factory=list)


def answer(body: Json, corpus: Corpus, partial: Partial | None = None) -> Json:
    """Return the reply to a search; raise Refused for one that can't be answered."""
    request = read_request(body, corpus.schema)
    allowed = _allowed(request, corpus)
    legs = _Legs()
    hybrid = bool(request.vectors)
    if request.search is not None or not hybrid:
        legs.text = _search_text(request, corpus, allowed, most=MOST_TEXT if hybrid else None)
    for query in request.vectors:
        legs.vectors.extend(_nearest(query, request, corpus, allowed))
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


def _search_text(
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
