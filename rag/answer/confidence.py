"""Compute the named signals that speak for and against an answer, for the confidence gate; pure.

No feature may tell how a question is worded: neither its length, nor its style, nor its
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
"""How many passages the distribution of scores is read from."""

_NEAR_TOP_SHARE = 0.8
"""Share of the best score from which on a passage counts as agreeing."""


def features(
    question: str,
    passages: Sequence[Passage],
    composition: Composition,
    vocabulary: Vocabulary | None,
) -> dict[str, float]:
    """Return the signals of retrieval and composition by name.

    Args:
        question: as it was searched for.
        passages: what was retrieved, best first; may be empty.
        composition: what the composer made of them.
        vocabulary: how rare the question's content words are; None counts all alike.

    A signal that can't be had is absent, never zero. ``has_claims``, ``supported_share`` and
    ``uncovered_identifiers`` are always there.
    """
    ranked = sorted(passages, key=lambda passage: -_score(passage))[:TOP_PASSAGES]
    return {
        **_composed(composition),
        **_distribution(ranked),
        **_strength(question, passages, vocabulary),
        **_agreement(ranked),
        **_coverage(question, ranked, vocabulary),
        "uncovered_identifiers": float(len(_missing_identifiers(question, passages))),
    }


def _score(passage: Passage) -> float:
    """Return the index's fused score where it tells it: ``score`` may do no more than order."""
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
    """Describe how the best scores fall off: a clear winner differs from a flat field."""
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
    """Return the best raw signals, the keyword score per unit of what the question weighs.

    BM25 adds up over the words of a question; undivided it would tell how many there are.
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
    """Return how near the question's tokens come to the best page's, and to any other page's."""
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
    """Return how far keyword and vector search, and the pages, point the same way."""
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
    """Return which share of the question's meaning, by rarity, the passages' words hold."""
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
    """Return the inverse document frequency of each stem of the question; 1 where unknown."""
    if vocabulary is None or not vocabulary.chunks:
        return {stem(word): 1.0 for word in content_words(question)}
    rarity: dict[str, float] = {}
    for word in content_words(question):
        known = vocabulary.frequencies
        frequency = known.get(word, known.get(stem(word), 0))
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
