"""The figures behind an explanation."""

from __future__ import annotations

import pytest

from bot.answering.explanations.view import figure_groups, passage_rows, weight_rows
from bot.answering.gate import FeatureWeight
from bot.domain.interactions import Trace
from bot.domain.messages import FoundPassage, Intent
from rag.types import ModelCall
from tests.builders import route

PASSAGES = (
    FoundPassage("c1", "vpn.md", "VPN", "Error codes", {"keyword": 5.0, "fused": 1.0}),
    FoundPassage("c2", "vpn.md", "VPN", "VPN", {"vector": 0.5, "fused": 0.5}),
    FoundPassage("c3", "vpn.md", "VPN", "", {}),
)


def call(cost: int | None) -> ModelCall:
    return ModelCall("answer", "small", "answer@3", 1200, 80, 900.0, cost_micro_usd=cost)


def rows(trace: Trace, name: str) -> dict[str, str]:
    return next(
        (dict(group.rows) for group in figure_groups(trace, set()) if group.name == name), {}
    )


def trace(**more: object) -> Trace:
    return Trace(route=route(Intent.DOMAIN, "q"), **more)  # type: ignore[arg-type]  # a test's own


def test_bars_compare_within_a_column_and_what_was_not_measured_is_blank() -> None:
    first, second, third = passage_rows(PASSAGES)

    assert [(cell.figure, cell.bar) for cell in first.cells] == [
        ("5.00", 100),
        ("", None),
        ("1.00", 100),
    ]
    assert [cell.bar for cell in second.cells] == [None, 100, 50]
    assert [cell.bar for cell in third.cells] == [None, None, None]


def test_a_section_that_is_the_title_is_not_repeated() -> None:
    assert [row.section for row in passage_rows(PASSAGES)] == ["Error codes", "", ""]


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_column_without_anything_above_nothing_has_empty_bars(value: float) -> None:
    (row,) = passage_rows([FoundPassage("c", "p", "P", "", {"keyword": value})])

    assert row.cells[0].bar == 0


@pytest.mark.parametrize(
    ("push", "did", "side"),
    [
        (0.6, "clearly for", "for"),
        (0.1, "for", "for"),
        (0.0, "hardly counts", "neither"),
        (-0.1, "against", "against"),
        (-0.6, "clearly against", "against"),
    ],
)
def test_what_a_signal_did_is_said_in_a_word(push: float, did: str, side: str) -> None:
    (row,) = weight_rows([FeatureWeight("coverage_first", 0.25, push)], {"coverage_first": 0.5})

    assert (row.did, row.side) == (did, side)
    assert (row.cell.figure, row.cell.bar) == ("50%", 25)


def test_times_are_named_and_summed() -> None:
    times = rows(trace(timings_ms={"route": 0.4, "search": 40.0, "compose": 2000.0}), "Time")

    assert times == {
        "Understanding the question": "under 1 ms",
        "Searching": "40 ms",
        "Composing and checking": "2.0 s",
        "Together": "2.0 s",
    }


def test_calls_tell_model_tokens_prompt_and_cost() -> None:
    told = rows(trace(calls=(call(2100), call(2100))), "Language model")

    answer = "small read 1,200 and wrote 80 tokens in 900 ms (answer@3)"
    assert told == {"Composing the answer": answer, "Cost": "0.0042 US dollars"}


@pytest.mark.parametrize(
    ("calls", "cost"),
    [
        ((call(None),), "not known: no price is set for this model"),
        ((call(2100), call(None)), "0.0021 US dollars, and calls without a known price"),
    ],
)
def test_a_cost_that_is_not_known_is_not_made_up(calls: tuple[ModelCall, ...], cost: str) -> None:
    assert rows(trace(calls=calls), "Language model")["Cost"] == cost


def test_without_a_model_nothing_is_said_to_have_cost_anything() -> None:
    assert rows(trace(), "Language model") == {"Asked": "not at all, so it cost nothing"}


def test_remarks_and_the_route_are_there() -> None:
    shown = trace(notes=("the routing model did not answer",))

    assert rows(shown, "Remarks") == {"": "The routing model did not answer."}
    assert rows(shown, "Kind of question") == {
        "Taken as": "about the company",
        "Decided by": "a fixed rule, 90% sure",
    }
