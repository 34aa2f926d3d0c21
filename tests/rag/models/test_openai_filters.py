from __future__ import annotations

from rag.types import FilterVerdict
from tests.rag.models.asking import GOOD, PROMPT, Days, asked
from tests.rag.models.openai_server import (
    fails,
    says,
)

VERDICTS = {
    "hate": {"filtered": False, "severity": "safe"},
    "self_harm": {"filtered": False, "severity": "safe"},
    "sexual": {"filtered": False, "severity": "safe"},
    "violence": {"filtered": True, "severity": "high"},
}


async def test_a_question_that_the_filter_stops_is_a_refusal_with_its_verdicts() -> None:
    blocked = fails(
        400,
        code="content_filter",
        param="prompt",
        innererror={
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {**VERDICTS, "jailbreak": {"filtered": False}},
        },
    )
    async with asked(blocked) as (model, server):
        structured = await model.structured(PROMPT, Days)
        completion = await model.complete(PROMPT)
        assert len(server.seen) == 2
    assert structured.value is None
    assert structured.refusal == "Stopped by the content filter (violence)."
    assert completion.refused
    call = structured.call
    assert call.finish_reason == "content_filter"
    assert FilterVerdict("input", "violence", filtered=True, severity="high") in call.filters
    assert FilterVerdict("input", "hate", filtered=False, severity="safe") in call.filters
    assert call.cost_micro_usd is None


async def test_an_answer_that_the_filter_stops_is_a_refusal_with_its_verdicts() -> None:
    stopped = says('{"da', finish_reason="content_filter", content_filter_results={"violence": {}})
    async with asked(stopped) as (model, _):
        structured = await model.structured(PROMPT, Days)
    assert structured.value is None
    assert structured.call.filters == (FilterVerdict("output", "unspecified", filtered=True),)
    assert structured.call.input_tokens == 1000


async def test_verdicts_are_recorded_when_nothing_is_stopped() -> None:
    fine = says(
        GOOD,
        content_filter_results={"sexual": {"filtered": False, "severity": "low"}},
        top={"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": VERDICTS}]},
    )
    async with asked(fine) as (model, _):
        structured = await model.structured(PROMPT, Days)
    assert structured.value is not None
    assert [verdict.direction for verdict in structured.call.filters] == ["input"] * 4 + ["output"]
