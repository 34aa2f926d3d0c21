"""Tests of how a trace records what led to an answer."""

from __future__ import annotations

from dataclasses import replace

from bot.answering.gate import Judgement
from bot.answering.grounded_answer import (
    GroundedAnswer,
    gate_attributes,
    trace_with_answer,
    trace_with_calls,
    trace_with_note,
)
from bot.domain.interactions import Trace
from bot.domain.messages import Intent
from rag.pipeline import Retrieval
from rag.search_scope import PlannedSearch
from rag.types import Answer, FilterVerdict, ModelCall
from tests.fakes.builders import chunk, passage, route

FOUND = (passage(chunk("text")),)
RETRIEVAL = Retrieval("q", FOUND, {"search": 2.0})
TRACE = Trace(route(Intent.DOMAIN, "q"), timings_ms={"route": 1.0})


def test_an_answer_without_a_claim_never_passes() -> None:
    silent = Answer("q", (), FOUND, {"x": 1.0}, "extractive", timings_ms={"compose": 3.0})
    judged = GroundedAnswer(RETRIEVAL, silent, Judgement(1.0, 0.5))
    trace = trace_with_answer(TRACE, judged)

    assert trace.gate == "stopped"
    assert gate_attributes(judged)["gen_ai.evaluation.score.label"] == "stopped"
    assert trace.timings_ms == {"route": 1.0, "compose": 3.0}
    assert [found.chunk_id for found in trace.passages] == ["c1"]


def test_what_could_not_be_composed_is_explained_by_what_was_found() -> None:
    trace = trace_with_answer(TRACE, GroundedAnswer(RETRIEVAL, None, Judgement(0.0, 1.0)))

    assert trace.notes == ("the answer could not be composed",)
    assert trace.timings_ms == {"route": 1.0, "search": 2.0}
    assert trace.features == {}


def test_calls_bring_what_content_filters_said() -> None:
    verdict = FilterVerdict("input", "hate", filtered=False)
    call = ModelCall("answer", "m", "answer@1", 1, 1, 1.0, filters=(verdict,))

    assert trace_with_calls(trace_with_note(TRACE, "a"), (call, call)).filters == (verdict, verdict)


def test_without_its_pages_an_answer_keeps_no_search_of_a_model() -> None:
    searches = (PlannedSearch("salary bands", None, None, None, 1),)
    grounded = GroundedAnswer(replace(RETRIEVAL, searches=searches), None)

    assert grounded.limited_to_pages(()).retrieval.searches == ()


def test_further_pages_that_may_be_offered_are_checked_and_left_out_too() -> None:
    further = passage(chunk("text", chunk_id="c9", page_id="other.md"))
    grounded = GroundedAnswer(replace(RETRIEVAL, further=(further,)), None)

    assert [each.id for each in grounded.chunks_to_show] == ["c1", "c9"]
    assert grounded.limited_to_pages({"other.md"}).retrieval.further == (further,)
    assert grounded.limited_to_pages(()).retrieval.further == ()
