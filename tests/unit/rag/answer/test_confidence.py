"""Features from which the gate judges an answer."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from rag.answer.confidence import features
from rag.answer.extractive import ExtractiveComposer
from rag.parts import paragraph
from rag.ports import Composition, Vocabulary
from rag.types import Citation, Claim
from tests.fakes.passages import passage
from tests.fakes.rag_ports import WordEmbedder

VPN = passage(
    "Error 809 means that the network blocks the VPN.",
    page="vpn.md",
    title="VPN",
    score=0.9,
    signals={"keyword": 6.0, "vector": 0.7, "keyword_rank": 1, "vector_rank": 1},
)
BADGE = passage(
    "Badges are printed on Mondays.",
    page="badge.md",
    title="Badges",
    score=0.4,
    signals={"vector": 0.2, "vector_rank": 2},
)
QUOTED = Composition(
    claims=(Claim((paragraph("Error 809"),), (Citation("vpn-md-0", "Error 809"),)),),
    signals={"best_quote_score": 1.5},
)
RARE = Vocabulary(chunks=1000, frequencies={"vpn": 40, "error": 100, "809": 2, "teleport": 0})
PADDING = st.lists(
    st.sampled_from(
        ["please", "so", "the", "what", "about", "I", "would", "really", "hi", "?!", "..."]
    )
)


def test_the_distribution_of_scores_is_described() -> None:
    found = features("vpn error", [BADGE, VPN], QUOTED, None)

    assert found["score_best"] == 0.9
    assert math.isclose(found["score_gap_2"], 0.5)
    assert math.isclose(found["score_mean"], (0.9 + 4 * 0.4) / 5)
    assert math.isclose(found["score_spread"], 0.2)


def test_a_rare_word_that_is_found_weighs_more_than_a_common_one() -> None:
    rare = features("809 teleport error", [VPN], QUOTED, RARE)
    even = features("809 teleport error", [VPN], QUOTED, None)

    assert rare["coverage_best"] < even["coverage_best"]
    assert math.isclose(even["coverage_best"], 2 / 3)
    assert rare["rarest_uncovered"] == 1.0


def test_an_identifier_that_no_passage_holds_is_counted() -> None:
    assert features("vpn 809", [VPN], QUOTED, None)["uncovered_identifiers"] == 0
    assert features("vpn 691", [VPN], QUOTED, None)["uncovered_identifiers"] == 1


def test_the_lead_by_tokens_is_over_the_best_other_page() -> None:
    near = [
        passage("a", page="a.md", signals={"tokens": 0.9}),
        passage("a again", page="a.md", ordinal=1, signals={"tokens": 0.8}),
        passage("b", page="b.md", signals={"tokens": 0.5}),
    ]
    found = features("vpn", near, QUOTED, None)

    assert found["tokens_best"] == 0.9
    assert math.isclose(found["tokens_lead"], 0.4)
    assert "tokens_lead" not in features("vpn", near[:2], QUOTED, None)


def test_what_is_not_known_is_absent() -> None:
    nothing = features("vpn", [], Composition(claims=()), None)

    assert nothing == {"has_claims": 0.0, "supported_share": 0.0, "uncovered_identifiers": 0.0}


def test_claims_that_the_checks_dropped_lower_the_supported_share() -> None:
    half = Composition(claims=QUOTED.claims, dropped_claims=1)

    assert features("vpn", [VPN], half, None)["supported_share"] == 0.5


@given(before=PADDING, after=PADDING)
def test_padding_with_stop_words_and_punctuation_changes_nothing(
    before: list[str], after: list[str]
) -> None:
    padded = " ".join([*before, "vpn error 809", *after])

    assert features(padded, [VPN, BADGE], QUOTED, RARE) == features(
        "vpn error 809", [VPN, BADGE], QUOTED, RARE
    )


def test_asking_for_more_words_that_are_found_does_not_raise_the_keyword_signal_by_itself() -> None:
    """BM25 adds up over words; per unit of weight a question twice as long scores the same."""
    one = features("vpn", [VPN], QUOTED, None)["keyword_best"]
    twice = passage("x", signals={"keyword": 12.0})

    assert math.isclose(features("vpn error", [twice], QUOTED, None)["keyword_best"], one)


async def test_composed_anew_from_a_padded_question_the_features_barely_move() -> None:
    composer = ExtractiveComposer(None)
    short, long = (
        "vpn error 809",
        "hi, so what is it about the vpn error 809 please, would you say?",
    )

    plain = features(short, [VPN, BADGE], await composer.compose(short, [VPN, BADGE]), RARE)
    padded = features(long, [VPN, BADGE], await composer.compose(long, [VPN, BADGE]), RARE)

    assert padded == plain


async def test_no_feature_is_a_count_of_the_question() -> None:
    embedder = WordEmbedder()
    question = "vpn error 809 network blocks mondays badges printed"
    found = features(
        question, [VPN, BADGE], await ExtractiveComposer(embedder).compose(question, [VPN]), RARE
    )

    assert not {float(len(question)), float(len(question.split()))} & set(found.values())


def test_of_what_only_a_models_search_found_nothing_but_identifiers_counts() -> None:
    planned = passage("Error 691 is a wrong name.", page="b.md", signals={"planned": 1.0})

    alone, both = (features("vpn 691", found, QUOTED, None) for found in ([VPN], [planned, VPN]))

    assert both == {**alone, "uncovered_identifiers": 0}
