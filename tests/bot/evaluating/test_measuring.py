from __future__ import annotations

from dataclasses import replace

from bot.answering.evaluation import question_metrics
from bot.answering.evaluation.question_cases import Rankings
from bot.domain.messages import Intent
from tests.bot.evaluating.cases import RIGHT, WRONG, case, numbered, row


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
