from __future__ import annotations

import pytest

from rag.errors import ModelAnswerInvalid, ModelUnavailable
from rag.models.chat.openai_compatible import ModelSettings, open_model
from tests.rag.models.asking import GOOD, PROMPT, Days, asked
from tests.rag.models.openai_server import says


async def test_a_completion_is_the_text_with_what_it_took() -> None:
    async with asked(says(" Twenty-five. ")) as (model, server):
        completion = await model.complete(PROMPT)
    assert completion.text == "Twenty-five."
    assert not completion.refused
    call = completion.call
    assert (call.purpose, call.prompt, call.model) == (
        "answer",
        "answer@1",
        "gpt-4o-mini-2024-07-18",
    )
    assert (call.input_tokens, call.output_tokens) == (1000, 100)
    assert (call.finish_reason, call.attempts, call.repaired) == ("stop", 1, False)
    assert call.duration_ms > 0
    assert call.cost_micro_usd is None  # nobody's price list names 127.0.0.1
    request = server.seen[0]
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How many days?"},
        ],
        "max_tokens": 1024,
        "temperature": 0.1,
    }


async def test_a_structured_answer_is_asked_for_by_a_strict_schema() -> None:
    async with asked(says(GOOD)) as (model, server):
        structured = await model.structured(PROMPT, Days)
    assert structured.value == Days(days=25)
    wanted = server.seen[0].body["response_format"]
    assert isinstance(wanted, dict)
    assert wanted["json_schema"]["strict"] is True
    schema = wanted["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["days", "why"]


async def test_json_in_a_code_fence_is_read() -> None:
    async with asked(says(f"```json\n{GOOD}\n```")) as (model, server):
        assert (await model.structured(PROMPT, Days)).value == Days(days=25)
        assert len(server.seen) == 1


@pytest.mark.parametrize("wrong", ["{", "no JSON", '{"days": "many"}', '{"days": -1}', "[]", ""])
async def test_a_wrong_shape_is_repaired_once_with_what_was_wrong(wrong: str) -> None:
    async with asked(says(wrong), says(GOOD)) as (model, server):
        structured = await model.structured(PROMPT, Days)
    assert structured.value == Days(days=25)
    assert structured.call.repaired
    assert structured.call.attempts == 2
    assert structured.call.input_tokens == 2000
    assert server.seen[1].roles == ["system", "user", *(["assistant"] if wrong else []), "user"]


async def test_a_shape_that_is_wrong_twice_is_an_error_without_the_answers_text() -> None:
    async with asked(says('{"days": "a secret"}')) as (model, server):
        with pytest.raises(ModelAnswerInvalid, match="days: Input should be") as caught:
            await model.structured(PROMPT, Days)
        assert len(server.seen) == 2
    assert "a secret" not in str(caught.value)


async def test_an_answer_that_is_cut_off_is_repaired_then_an_error_with_the_cure() -> None:
    short = says(GOOD[:5], finish_reason="length")
    async with asked(short, says(GOOD)) as (model, _):
        assert (await model.structured(PROMPT, Days)).value == Days(days=25)
    async with asked(short) as (model, _):
        with pytest.raises(ModelAnswerInvalid, match="max_output_tokens"):
            await model.structured(PROMPT, Days)
    async with asked(says("Half a sent", finish_reason="length")) as (model, _):
        with pytest.raises(ModelAnswerInvalid, match="1024 tokens"):
            await model.complete(PROMPT)


async def test_a_models_own_refusal_is_an_outcome() -> None:
    async with asked(says(None, refusal="I can't help with that.")) as (model, server):
        structured = await model.structured(PROMPT, Days)
        completion = await model.complete(PROMPT)
        assert len(server.seen) == 2
    assert (structured.value, structured.refusal) == (None, "I can't help with that.")
    assert completion.refused
    assert completion.text == "I can't help with that."


async def test_a_server_that_counts_no_tokens_costs_nobody_knows() -> None:
    async with asked(says("Yes.", top={"usage": None, "model": None})) as (model, _):
        call = (await model.complete(PROMPT)).call
    assert (call.input_tokens, call.cost_micro_usd, call.model) == (0, None, "gpt-4o-mini")


def test_openai_without_a_key_is_refused_at_once() -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        open_model(ModelSettings("gpt-4o-mini"))


@pytest.mark.parametrize("base_url", ["localhost:11434", "/v1", "ftp://host/v1", "https://"])
def test_an_address_that_is_none_is_refused_at_once(base_url: str) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_BASE_URL"):
        open_model(ModelSettings("m", base_url, "k"))
