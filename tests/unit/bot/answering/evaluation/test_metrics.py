"""Tests of the figures over questions, over slices of them, and of those that judge a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bot.answering.evaluation import question_metrics
from bot.answering.evaluation.gate_metrics import POOLED, best_features, comparisons, gating_figures
from bot.answering.evaluation.labelled_questions import Grade
from bot.answering.evaluation.question_cases import Case, Rankings
from bot.answering.evaluation.question_metrics import slices
from bot.domain.messages import Intent
from tests.unit.bot.answering.evaluation.cases import RIGHT, WRONG, case, numbered, row


def test_every_way_of_ranking_is_measured_on_the_same_questions() -> None:
    found = Rankings(keyword=("x", "a.md"), vector=("x",), rrf=("x", "a.md"), ours=("a.md",))
    figures = question_metrics.retrieval([replace(case(), rankings=found), case(withheld=True)])

    assert figures["ours"]["hit@1"].value == 1.0
    assert figures["keyword"]["hit@1"].value == 0.0
    assert figures["keyword"]["nDCG@10"].value == 0.6309
    assert figures["vector"]["recall@5"].value == 0.0
    assert figures["ours"]["recall@5"].n == 1


def test_the_lead_is_paired_by_question() -> None:
    found = Rankings(keyword=(), vector=("a.md",), rrf=("a.md",), ours=("a.md",))
    lead = question_metrics.retrieval_lead([replace(case(), rankings=found)])

    assert (lead["keyword"].value, lead["rrf"].value) == (1.0, 0.0)


def test_routes_are_counted_by_kind_and_unknown_goes_the_way_of_domain() -> None:
    cases = [
        case(intent=Intent.UNKNOWN),
        case(row("q2", "generic"), intent=Intent.DOMAIN),
        case(row("q3", "human"), intent=Intent.HUMAN),
        case(withheld=True, intent=Intent.GENERIC),
    ]

    assert question_metrics.routes(cases)["generic"] == {
        "GENERIC": 0,
        "DOMAIN": 1,
        "UNKNOWN": 0,
        "HUMAN": 0,
    }
    assert question_metrics.routed_right(cases).value == 0.6667


def test_answers_are_judged_before_the_gate() -> None:
    cases = [
        case(row(key_facts=["x"]), response="escalation"),
        case(row("q2", key_facts=["x"]), verdict=WRONG),
        case(row("q3", "near_miss")),
    ]
    found = question_metrics.answers(cases)

    assert found.facts_and_page.value == 0.5
    assert found.gold_cited.value == 1.0
    assert found.words.value == 20.0
    assert (found.words_median.value, found.words_most.value) == (20.0, 30.0)


def test_every_quote_of_every_run_counts_as_a_citation() -> None:
    bad = replace(RIGHT, valid=1)
    found = question_metrics.citations([case(), case(verdict=bad, withheld=True)])

    assert (found.value, found.n) == (0.75, 4)


def test_operation_says_what_askers_got() -> None:
    cases = [
        case(),
        numbered(case(verdict=WRONG), 2),
        numbered(case(response="escalation"), 3),
        case(row("q4", "near_miss")),
        case(row("q5", "generic"), confidence=None, intent=Intent.GENERIC),
        case(withheld=True, response="escalation"),
    ]
    found = question_metrics.operation(cases)

    assert found.outcomes["withheld"]["escalation"] == 1
    assert found.outcomes["answerable"]["sure"] == 2
    assert found.outcomes["generic"]["reply"] == 1
    assert found.outcomes["generic"]["sure"] == 0
    assert found.withheld_kept_back.value == 1.0
    assert found.threshold == 0.65


def test_cost_is_summed_and_latency_is_read_at_its_quantiles() -> None:
    cases = [
        replace(case(), latency_ms=float(n), model_calls=1, input_tokens=7) for n in range(101)
    ]
    found = question_metrics.cost(cases)

    assert (found.latency_p50_ms, found.latency_p95_ms) == (50.0, 95.0)
    assert (found.model_calls, found.input_tokens, found.output_tokens) == (101, 707, 0)


def test_no_questions_give_no_figures() -> None:
    assert question_metrics.answers([]).facts_and_page.value is None
    assert question_metrics.cost([]).latency_p50_ms is None
    assert question_metrics.routed_right([]).n == 0


PART = Grade(facts=False, cited=True, evidence=True, citations=1, valid=1, facts_held=0.5)
NAMED = {"composer_partial": 1.0}


def partial(verdict: Grade = PART, features: Mapping[str, float] | None = None) -> Case:
    return case(verdict=verdict, level="partial", features=features)


def test_an_unsure_answer_counts_as_none_and_is_reported_on_its_own() -> None:
    found = slices([case(), case(level="unsure"), case(level="unsure", verdict=WRONG)])["all"]

    assert (found.answered.value, found.answered.n) == (0.3333, 3)
    assert (found.unsure.value, found.right_among_unsure.value) == (0.6667, 0.5)
    assert found.let_through.value == 0.5


def test_a_partial_answer_is_right_when_it_names_what_is_missing() -> None:
    cases = [partial(PART, NAMED), partial(), partial(replace(PART, facts_held=0.0), NAMED)]

    found = slices(cases)["all"]

    assert found.answered.value == 1.0
    assert found.right_among_answered.value == 0.3333
    assert slices([case(verdict=PART, features=NAMED)])["all"].answered_right.value == 0.0


def test_wrong_among_all_answered_counts_questions_without_an_answer() -> None:
    cases = [case(), case(row("n", "near_miss")), replace(case(), withheld=True)]

    found = slices(cases)["all"]

    assert found.right_among_answered.value == 1.0
    assert found.wrong_among_answered.value == 0.6667
    assert found.unanswerable_answered.n == 2


def test_slices_go_by_length_tags_and_kind() -> None:
    long_ = " ".join(["word"] * 9)
    rows = [
        row("1", question="two words"),
        row("2", question=long_, tags=["table"]),
        row("3", question=long_, tags=["list"]),
        row("4", "multi_turn", "and then", pages=["a.md"]),
    ]

    found = slices([case(each) for each in rows])

    counts = {name: each.answered.n for name, each in found.items()}
    assert counts == {"all": 3, "short": 1, "long": 2, "table": 1, "steps": 1, "multi_turn": 1}


ANSWERED = [numbered(case(row(question="one two three"), confidence=0.9), n) for n in range(4)]
FAR = [case(row(f"f{n}", "far", "one two three four"), confidence=0.1) for n in range(3)]
NEAR = [case(row(f"n{n}", "near_miss", "one"), confidence=0.95) for n in range(2)]
WITHHELD = [numbered(case(row(), withheld=True, confidence=0.9), n) for n in range(4)]


def test_each_kind_of_question_without_an_answer_is_told_apart_on_its_own() -> None:
    separation = gating_figures([*ANSWERED, *FAR, *NEAR, *WITHHELD]).separation

    assert separation["far"]["gate"].plain.value == 1.0
    assert separation["near_miss"]["gate"].plain.value == 0.0
    assert separation["withheld"]["gate"].plain.value == 0.5
    assert "wrong_answer" not in separation


def test_at_equal_length_pairs_that_differ_by_more_than_a_word_are_left_out() -> None:
    separation = gating_figures([*ANSWERED, *FAR, *NEAR]).separation

    assert separation["far"]["gate"].matched.value == 1.0
    assert separation["near_miss"]["gate"].matched.value is None


def test_length_alone_is_reported_as_a_control() -> None:
    assert gating_figures([*ANSWERED, *NEAR]).separation["near_miss"]["length"].plain.value == 1.0


def test_wrong_answers_are_compared_with_right_ones() -> None:
    wrong = numbered(case(verdict=WRONG, confidence=0.2), 9)

    assert gating_figures([*ANSWERED, wrong]).separation["wrong_answer"]["gate"].plain.value == 1.0


def test_the_probability_is_held_against_right_and_wrong_without_the_withheld() -> None:
    found = gating_figures([*ANSWERED, *FAR, *WITHHELD])

    assert found.share_right.value == 0.5714
    assert found.coverage["5%"].value == 0.5714
    assert found.brier.value == 0.01
    assert found.coverage["5%"].n == 7


def test_questions_that_never_reached_the_index_are_left_out() -> None:
    generic = case(row("g", "far"), confidence=None)

    assert gating_figures([*ANSWERED, generic]).separation == {}


def test_nothing_asked_gives_no_figures() -> None:
    assert gating_figures([]).aurc.value is None


SIGNS = {"vector_best": 1, "pages_close": -1}


def asked(n: int, *, right: bool, confidence: float, **features: float) -> Case:
    verdict = RIGHT if right else WRONG
    return numbered(case(confidence=confidence, verdict=verdict, features=features), n)


TRAINING = [
    asked(1, right=True, confidence=0.9, vector_best=0.2, pages_close=0.1),
    asked(2, right=False, confidence=0.1, vector_best=0.8, pages_close=0.9),
]


def test_the_feature_is_the_one_that_orders_the_training_sets_best() -> None:
    training = [("a", [TRAINING[0]]), ("b", [TRAINING[1]])]

    assert best_features(training, SIGNS)["all"] == "pages_close"
    backwards = {"vector_best": -1, "pages_close": 1}
    assert best_features(training, backwards)["all"] == "vector_best"


def test_the_difference_is_paired_and_pooled_over_sets() -> None:
    right = [asked(n, right=True, confidence=0.9, vector_best=0.5) for n in range(20)]
    wrong = [asked(n, right=False, confidence=0.9 - n / 50) for n in range(20, 40)]

    found = comparisons([("a", [*right, *wrong]), ("b", TRAINING)], {"all": "vector_best"}, SIGNS)

    (of_a,), (pooled,) = found["a"], found[POOLED]
    assert of_a.difference.value == pytest.approx((of_a.gate.value or 0) - (of_a.single.value or 0))
    assert of_a.single.value == 1.0
    assert pooled.gate.n == 42
    assert found["b"] == [], "one question on either side says nothing"
