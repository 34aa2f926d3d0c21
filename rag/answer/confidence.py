"""Compute the confidence gate's features from retrieval and composition; no I/O.

No feature may depend on a question's wording: neither its length, nor its style, nor its
punctuation. Labelled sets differ in those by accident, and a gate would learn the accident.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from rag.ports import Composition, Vocabulary
from rag.text.words import content_words, identifiers, stem, stems
from rag.types import Passage

TOP_PASSAGES = 5
"""Number of best passages whose score distribution is used."""

_NEAR_TOP_SHARE = 0.8
"""Share of the best score from which a passage counts as close to it."""


def features(
    question: str,
    passages: Sequence[Passage],
    composition: Composition,
    vocabulary: Vocabulary | None,
) -> dict[str, float]:
    """Return the features of retrieval and composition by name.

    Args:
        question: the question as it was searched for.
        passages: the retrieved passages, best first; may be empty. Of those that only a model's own
            search found, nothing but their identifiers counts.
        composition: the composer's result.
        vocabulary: the document frequencies of words; None weighs all words equally.

    A feature that can't be computed is absent, never zero. ``has_claims``, ``supported_share`` and
    ``uncovered_identifiers`` are always present.
    """
    # The gate was trained on searches in the asker's own words.
    own = [passage for passage in passages if "planned" not in passage.signals]
    ranked = sorted(own, key=lambda passage: -_score(passage))[:TOP_PASSAGES]
    return {
        **_composed(composition),
        **_distribution(ranked),
        **_strength(question, own, vocabulary),
        **_agreement(ranked),
        **_coverage(question, ranked, vocabulary),
        "uncovered_identifiers": float(len(_missing_identifiers(question, passages))),
    }


def _score(passage: Passage) -> float:
    """Return the fused score if the index has it: ``score`` may be good for ordering only."""
    return passage.signals.get("fused", passage.score)


def _composed(composition: Composition) -> dict[str, float]:
    kept = len(composition.claims)
    stated = kept + composition.dropped_claims
    own = {f"composer_{name}": float(value) for name, value in composition.signals.items()}
    return {
        **own,
        "has_claims": float(kept > 0),
        "supported_share": kept / stated if stated else 0.0,
    }


def _distribution(ranked: Sequence[Passage]) -> dict[str, float]:
    """Return the shape of the best scores: a clear winner differs from a flat distribution."""
    if not ranked:
        return {}
    scores = [_score(passage) for passage in ranked]
    padded = scores + [scores[-1]] * (TOP_PASSAGES - len(scores))
    return {
        "score_best": padded[0],
        "score_gap_2": padded[0] - padded[1],
        "score_gap_5": padded[0] - padded[-1],
        "score_mean": statistics.fmean(padded),
        "score_spread": statistics.pstdev(padded),
    }


def _strength(
    question: str, passages: Sequence[Passage], vocabulary: Vocabulary | None
) -> dict[str, float]:
    """Return the best raw scores; the keyword score is divided by the question's total weight.

    BM25 sums over the words of a question; undivided it would measure their number.
    """
    found: dict[str, float] = {}
    keyword = [p.signals["keyword"] for p in passages if "keyword" in p.signals]
    vector = [p.signals["vector"] for p in passages if "vector" in p.signals]
    weight = sum(_rarity(question, vocabulary).values())
    if keyword and weight:
        found["keyword_best"] = max(keyword) / weight
    if vector:
        found["vector_best"] = max(vector)
        found["vector_mean"] = statistics.fmean(sorted(vector, reverse=True)[:TOP_PASSAGES])
    return found | _tokens(passages)


def _tokens(passages: Sequence[Passage]) -> dict[str, float]:
    """Return the best page's token similarity, and its lead over any other page's."""
    by_page: dict[str, float] = {}
    for passage in passages:
        near = passage.signals.get("tokens")
        if near is not None:
            page = passage.chunk.page_id
            by_page[page] = max(near, by_page.get(page, near))
    if not by_page:
        return {}
    best, *others = sorted(by_page.values(), reverse=True)
    found = {"tokens_best": best}
    if others:
        found["tokens_lead"] = best - others[0]
    return found


def _agreement(ranked: Sequence[Passage]) -> dict[str, float]:
    """Return how far keyword and vector search, and the best passages' pages, agree."""
    if not ranked:
        return {}
    both = sum(
        passage.signals.get("keyword_rank", math.inf) <= TOP_PASSAGES
        and passage.signals.get("vector_rank", math.inf) <= TOP_PASSAGES
        for passage in ranked
    )
    close = [p for p in ranked if _score(p) >= _NEAR_TOP_SHARE * _score(ranked[0])]
    best_page = ranked[0].chunk.page_id
    return {
        "rank_agreement": both / TOP_PASSAGES,
        "pages_close": float(len({p.chunk.page_id for p in close})) / TOP_PASSAGES,
        "best_page_share": sum(p.chunk.page_id == best_page for p in ranked) / len(ranked),
    }


def _coverage(
    question: str, ranked: Sequence[Passage], vocabulary: Vocabulary | None
) -> dict[str, float]:
    """Return the shares of the question's words, weighted by rarity, that the passages contain."""
    rarity = _rarity(question, vocabulary)
    total = sum(rarity.values())
    if not ranked or not total:
        return {}
    held = [_stems_of(passage) for passage in ranked]
    top3 = frozenset[str]().union(*held[:3])
    missing = [weight for term, weight in rarity.items() if term not in top3]
    return {
        "coverage_best": max(_held_weight(rarity, stems_) for stems_ in held) / total,
        "coverage_first": _held_weight(rarity, held[0]) / total,
        "coverage_top_3": _held_weight(rarity, top3) / total,
        "rarest_uncovered": max(missing, default=0.0) / max(rarity.values()),
    }


def _held_weight(rarity: Mapping[str, float], stems_: frozenset[str]) -> float:
    return sum(weight for term, weight in rarity.items() if term in stems_)


def _stems_of(passage: Passage) -> frozenset[str]:
    chunk = passage.chunk
    return frozenset(stems(" ".join((*chunk.breadcrumb, chunk.title, chunk.text))))


def _rarity(question: str, vocabulary: Vocabulary | None) -> dict[str, float]:
    """Return the inverse document frequency of each stem of the question; 1 without vocabulary."""
    if vocabulary is None or not vocabulary.chunks:
        return {stem(word): 1.0 for word in content_words(question)}
    rarity: dict[str, float] = {}
    for word in content_words(question):
        known = vocabulary.frequencies
        frequency = known.get(word, known.get(stem(word), 0))
        # BM25's inverse document frequency, as in Lucene.
        rarity[stem(word)] = math.log1p(
            max(0.0, vocabulary.chunks - frequency + 0.5) / (frequency + 0.5)
        )
    return rarity


def _missing_identifiers(question: str, passages: Sequence[Passage]) -> frozenset[str]:
    wanted = identifiers(question)
    if not wanted:
        return wanted
    texts = "\n".join(
        " ".join((*passage.chunk.breadcrumb, passage.chunk.text)).lower() for passage in passages
    )
    return frozenset(identifier for identifier in wanted if identifier not in texts)
