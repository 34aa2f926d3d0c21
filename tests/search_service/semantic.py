"""The semantic ranker, SYNTHETIC: scores of 0 to 4 by shared words, made to be the same each time.

The rules around it are the service's: 50 documents at most, captions and answers taken from the
text, partial results with a reason. Its scores say nothing of what the service would give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.search_service.analyzers import query_terms
from tests.search_service.corpus import Corpus
from tests.search_service.errors import Json, Refused, bad_parameter
from tests.search_service.request import SearchRequest
from tests.search_service.schema import SemanticConfiguration

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
        whole = " ".join(_text(document, name) for name in names if name)
        sentences = _sentences(document, configuration)
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


def _text(document: Json, name: str) -> str:
    value = document.get(name)
    return " ".join(value) if isinstance(value, list) else str(value or "")


def _sentences(document: Json, configuration: SemanticConfiguration) -> list[str]:
    text = "\n".join(_text(document, name) for name in configuration.content)
    return [each.strip() for each in _SENTENCE.findall(text) if each.strip()]


def _share(wanted: set[str], text: str) -> float:
    found = wanted & set(query_terms(_ANALYZER, text))
    return len(found) / len(wanted) if wanted else 0.0
