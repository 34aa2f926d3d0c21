from __future__ import annotations

import pytest

from rag.errors import ModelUnavailable
from tests.rag.models.asking import GOOD, PROMPT, Days, asked
from tests.rag.models.openai_server import (
    fails,
    rejects,
    says,
)


async def test_a_model_that_rejects_a_temperature_is_asked_without_and_with_room_to_think() -> None:
    reasoning = rejects("temperature", "Only the default (1) value is supported.", says("Yes."))
    async with asked(reasoning) as (model, server):
        first = await model.complete(PROMPT)
        await model.complete(PROMPT)
    assert first.call.attempts == 2
    assert ["temperature" in request.body for request in server.seen] == [True, False, False]
    assert server.seen[1].body["max_tokens"] == 1024 + 4096


async def test_the_name_of_the_output_limit_is_learned() -> None:
    picky = rejects("max_tokens", "Use 'max_completion_tokens' instead.", says("Yes."))
    async with asked(picky) as (model, server):
        assert (await model.complete(PROMPT)).text == "Yes."
    assert server.seen[1].body["max_completion_tokens"] == 1024


async def test_a_server_that_wants_neither_limit_is_not_asked_for_ever() -> None:
    answer = rejects(
        "max_tokens", "max_tokens?", rejects("max_completion_tokens", "no", says("Never."))
    )
    async with asked(answer) as (model, server):
        with pytest.raises(ModelUnavailable, match="does not accept"):
            await model.complete(PROMPT)
        assert len(server.seen) == 2


async def test_without_json_schema_the_schema_is_said_in_words() -> None:
    old = rejects("response_format", "unavailable", says(GOOD), value="json_schema")
    async with asked(old) as (model, server):
        assert (await model.structured(PROMPT, Days)).value == Days(days=25)
        assert (await model.structured(PROMPT, Days)).value == Days(days=25)
    assert [request.format for request in server.seen] == [
        "json_schema",
        "json_object",
        "json_object",
    ]
    assert "JSON schema" in str(server.seen[1].body["messages"])


async def test_without_any_json_mode_the_answer_is_still_checked() -> None:
    async with asked(rejects("response_format", "unknown field", says(GOOD))) as (model, server):
        assert (await model.structured(PROMPT, Days)).value == Days(days=25)
    assert [request.format for request in server.seen] == ["json_schema", "json_object", "text"]


async def test_a_question_that_is_too_long_does_not_change_how_the_server_is_asked() -> None:
    long = fails(400, code="context_length_exceeded", message="too many tokens")
    async with asked(long, says(GOOD)) as (model, server):
        with pytest.raises(ModelUnavailable, match="context_length_exceeded"):
            await model.structured(PROMPT, Days)
        await model.structured(PROMPT, Days)
    assert [request.format for request in server.seen] == ["json_schema", "json_schema"]


async def test_a_400_that_nothing_mends_teaches_nothing() -> None:
    bad = fails(400, message="no")
    async with asked(bad, bad, bad, says(GOOD)) as (model, server):
        with pytest.raises(ModelUnavailable, match="does not accept"):
            await model.structured(PROMPT, Days)
        await model.structured(PROMPT, Days)
    assert server.seen[-1].format == "json_schema"
