"""A chat model of OpenAI's protocol: replies, JSON shapes, dialects, filters, identity, spans."""

from __future__ import annotations

import time
from functools import partial
from typing import Literal, Self

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from opentelemetry.trace import SpanKind
from pydantic import BaseModel, Field

from rag.errors import ModelAnswerInvalid, ModelUnavailable
from rag.models.chat_model import (
    ModelSettings,
    TracedModel,
    open_model,
    provider_name,
    read_shape,
    wanted_shape,
)
from rag.models.chat_transport import REJECTION_KEPT_SECONDS, CallTally, ChatTransport
from rag.models.client import Endpoint, connect
from rag.models.protocol import Dialect
from rag.ports import ChatMessage, Prompt
from rag.retrying import Deadline
from rag.types import FilterVerdict, ModelCall
from tests.fakes.model_server import (
    DAYS_PROMPT,
    DAYS_REPLY,
    KEY,
    QUICK_RETRIES,
    Answer,
    Days,
    fails,
    open_test_model,
    openai_server,
    rejects,
    says,
)
from tests.fakes.rag_ports import ScriptedModel
from tests.fakes.spans import Spans


async def test_a_completion_is_the_text_with_what_it_took() -> None:
    async with open_test_model(says(" Twenty-five. ")) as (model, server):
        completion = await model.complete(DAYS_PROMPT)
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
    async with open_test_model(says(DAYS_REPLY)) as (model, server):
        structured = await model.structured(DAYS_PROMPT, Days)
    assert structured.value == Days(days=25)
    wanted = server.seen[0].body["response_format"]
    assert isinstance(wanted, dict)
    assert wanted["json_schema"]["strict"] is True
    schema = wanted["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["days", "why"]


async def test_json_in_a_code_fence_is_read() -> None:
    async with open_test_model(says(f"```json\n{DAYS_REPLY}\n```")) as (model, server):
        assert (await model.structured(DAYS_PROMPT, Days)).value == Days(days=25)
        assert len(server.seen) == 1


@pytest.mark.parametrize("wrong", ["{", "no JSON", '{"days": "many"}', '{"days": -1}', "[]", ""])
async def test_a_wrong_shape_is_repaired_once_with_what_was_wrong(wrong: str) -> None:
    async with open_test_model(says(wrong), says(DAYS_REPLY)) as (model, server):
        structured = await model.structured(DAYS_PROMPT, Days)
    assert structured.value == Days(days=25)
    assert structured.call.repaired
    assert structured.call.attempts == 2
    assert structured.call.input_tokens == 2000
    assert server.seen[1].roles == ["system", "user", *(["assistant"] if wrong else []), "user"]


async def test_a_shape_that_is_wrong_twice_is_an_error_without_the_answers_text() -> None:
    async with open_test_model(says('{"days": "a secret"}')) as (model, server):
        with pytest.raises(ModelAnswerInvalid, match="days: Input should be") as caught:
            await model.structured(DAYS_PROMPT, Days)
        assert len(server.seen) == 2
    assert "a secret" not in str(caught.value)


async def test_an_answer_that_is_cut_off_is_repaired_then_an_error_with_the_cure() -> None:
    short = says(DAYS_REPLY[:5], finish_reason="length")
    async with open_test_model(short, says(DAYS_REPLY)) as (model, _):
        assert (await model.structured(DAYS_PROMPT, Days)).value == Days(days=25)
    async with open_test_model(short) as (model, _):
        with pytest.raises(ModelAnswerInvalid, match="max_output_tokens"):
            await model.structured(DAYS_PROMPT, Days)
    async with open_test_model(says("Half a sent", finish_reason="length")) as (model, _):
        with pytest.raises(ModelAnswerInvalid, match="1024 tokens"):
            await model.complete(DAYS_PROMPT)


async def test_a_models_own_refusal_is_an_outcome() -> None:
    async with open_test_model(says(None, refusal="I can't help with that.")) as (model, server):
        structured = await model.structured(DAYS_PROMPT, Days)
        completion = await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 2
    assert (structured.value, structured.refusal) == (None, "I can't help with that.")
    assert completion.refused
    assert completion.text == "I can't help with that."


async def test_a_server_that_counts_no_tokens_costs_nobody_knows() -> None:
    async with open_test_model(says("Yes.", top={"usage": None, "model": None})) as (model, _):
        call = (await model.complete(DAYS_PROMPT)).call
    assert (call.input_tokens, call.cost_micro_usd, call.model) == (0, None, "gpt-4o-mini")


def test_openai_without_a_key_is_refused_at_once() -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        open_model(ModelSettings("gpt-4o-mini"))


@pytest.mark.parametrize("base_url", ["localhost:11434", "/v1", "ftp://host/v1", "https://"])
def test_an_address_that_is_none_is_refused_at_once(base_url: str) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_BASE_URL"):
        open_model(ModelSettings("m", base_url, "k"))


class Part(BaseModel):
    title: str = Field(min_length=1, max_length=10)
    format: int = 3


class Whole(BaseModel):
    parts: list[Part] = Field(default_factory=list, max_length=4)
    mood: Literal["high", "low"] | None = None


def test_every_object_is_closed_and_every_property_required() -> None:
    schema = wanted_shape(Whole).schema
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    part = definitions["Part"]
    for one in (schema, part):
        assert one["additionalProperties"] is False
    assert schema["required"] == ["parts", "mood"]
    assert part["required"] == ["title", "format"]


def test_limits_that_strict_mode_rejects_are_left_out_but_properties_of_that_name_stay() -> None:
    schema = wanted_shape(Whole).schema
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    assert definitions["Part"]["properties"] == {
        "title": {"type": "string"},
        "format": {"type": "integer"},
    }
    assert "default" not in str(schema)
    assert "maxItems" not in str(schema)


def test_the_left_out_limits_are_checked_on_what_comes_back() -> None:
    value, problem = read_shape('{"parts": [{"title": ""}]}', Whole)
    assert value is None
    assert problem.startswith("parts.0.title: ")


def test_what_is_wrong_is_said_without_the_values() -> None:
    _, problem = read_shape('{"mood": "my password"}', Whole)
    assert "mood" in problem
    assert "password" not in problem


async def test_a_model_that_rejects_a_temperature_is_asked_without_and_with_room_to_think() -> None:
    reasoning = rejects("temperature", "Only the default (1) value is supported.", says("Yes."))
    async with open_test_model(reasoning) as (model, server):
        first = await model.complete(DAYS_PROMPT)
        await model.complete(DAYS_PROMPT)
    assert first.call.attempts == 2
    assert ["temperature" in request.body for request in server.seen] == [True, False, False]
    assert server.seen[1].body["max_tokens"] == 1024 + 4096


NO_TEMPERATURE = partial(rejects, "temperature", "Only the default (1) value is supported.")
NO_EFFORT = partial(rejects, "reasoning_effort")


@pytest.mark.parametrize(
    ("server", "efforts"),
    [
        (says("Yes."), [None]),
        (NO_TEMPERATURE(says("Yes.")), [None, "minimal"]),
        (
            NO_TEMPERATURE(NO_EFFORT("Supported values are: 'low'.", says("Yes."), "minimal")),
            [None, "minimal", "low"],
        ),
        (
            NO_TEMPERATURE(NO_EFFORT("Unrecognized argument supplied: reasoning", says("Yes."))),
            [None, "minimal", "low", None],
        ),
    ],
    ids=["no reasoning model", "minimal", "low", "none"],
)
async def test_a_reasoning_model_is_asked_to_think_as_little_as_it_can(
    server: Answer, efforts: list[str | None]
) -> None:
    async with open_test_model(server) as (model, asked):
        await model.complete(DAYS_PROMPT)
        await model.complete(DAYS_PROMPT)
    seen = [request.body.get("reasoning_effort") for request in asked.seen]
    assert seen == [*efforts, efforts[-1]]


@pytest.mark.parametrize(
    ("server", "efforts"),
    [
        (says("Yes."), ["high"]),
        (NO_EFFORT("Unrecognized argument supplied: reasoning", says("Yes.")), ["high", None]),
    ],
    ids=["accepted", "refused"],
)
async def test_the_effort_of_the_settings_is_asked_for(
    server: Answer, efforts: list[str | None]
) -> None:
    async with open_test_model(server, reasoning_effort="high") as (model, asked):
        await model.complete(DAYS_PROMPT)
    assert [request.body.get("reasoning_effort") for request in asked.seen] == efforts
    assert asked.seen[0].body["max_tokens"] == 1024 + 4096


async def test_a_refused_form_is_tried_again_after_an_hour() -> None:
    now = 1000.0
    flag = rejects("response_format", "policy flag", says(DAYS_REPLY), "json_schema")
    async with openai_server(flag) as server:
        client = connect(Endpoint(server.url, KEY), 5).client
        transport = ChatTransport(
            client, "gpt-4o-mini", Dialect("max_tokens"), QUICK_RETRIES, clock=lambda: now
        )

        async def formats() -> list[str]:
            server.seen.clear()
            shape = wanted_shape(Days)
            await transport.ask(DAYS_PROMPT, DAYS_PROMPT.messages, shape, Deadline(5), CallTally())
            return [request.format for request in server.seen]

        assert await formats() == ["json_schema", "json_object"]
        assert await formats() == ["json_object"]
        now += REJECTION_KEPT_SECONDS - 1
        assert await formats() == ["json_object"]
        now += 2
        assert await formats() == ["json_schema", "json_object"]
        assert await formats() == ["json_object"]
        now += REJECTION_KEPT_SECONDS + 1
        server.answers = [says(DAYS_REPLY)]
        assert await formats() == ["json_schema"]
        await client.close()


async def test_the_name_of_the_output_limit_is_learned() -> None:
    picky = rejects("max_tokens", "Use 'max_completion_tokens' instead.", says("Yes."))
    async with open_test_model(picky) as (model, server):
        assert (await model.complete(DAYS_PROMPT)).text == "Yes."
    assert server.seen[1].body["max_completion_tokens"] == 1024


async def test_a_server_that_wants_neither_limit_is_not_asked_for_ever() -> None:
    answer = rejects(
        "max_tokens", "max_tokens?", rejects("max_completion_tokens", "no", says("Never."))
    )
    async with open_test_model(answer) as (model, server):
        with pytest.raises(ModelUnavailable, match="does not accept"):
            await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 2


async def test_without_json_schema_the_schema_is_said_in_words() -> None:
    old = rejects("response_format", "unavailable", says(DAYS_REPLY), value="json_schema")
    async with open_test_model(old) as (model, server):
        assert (await model.structured(DAYS_PROMPT, Days)).value == Days(days=25)
        assert (await model.structured(DAYS_PROMPT, Days)).value == Days(days=25)
    assert [request.format for request in server.seen] == [
        "json_schema",
        "json_object",
        "json_object",
    ]
    assert "JSON schema" in str(server.seen[1].body["messages"])


async def test_without_any_json_mode_the_answer_is_still_checked() -> None:
    async with open_test_model(rejects("response_format", "unknown field", says(DAYS_REPLY))) as (
        model,
        server,
    ):
        assert (await model.structured(DAYS_PROMPT, Days)).value == Days(days=25)
    assert [request.format for request in server.seen] == ["json_schema", "json_object", "text"]


async def test_a_question_that_is_too_long_does_not_change_how_the_server_is_asked() -> None:
    long = fails(400, code="context_length_exceeded", message="too many tokens")
    async with open_test_model(long, says(DAYS_REPLY)) as (model, server):
        with pytest.raises(ModelUnavailable, match="context_length_exceeded"):
            await model.structured(DAYS_PROMPT, Days)
        await model.structured(DAYS_PROMPT, Days)
    assert [request.format for request in server.seen] == ["json_schema", "json_schema"]


async def test_a_400_that_nothing_mends_teaches_nothing() -> None:
    bad = fails(400, message="no")
    async with open_test_model(bad, bad, bad, says(DAYS_REPLY)) as (model, server):
        with pytest.raises(ModelUnavailable, match="does not accept"):
            await model.structured(DAYS_PROMPT, Days)
        await model.structured(DAYS_PROMPT, Days)
    assert server.seen[-1].format == "json_schema"


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
    async with open_test_model(blocked) as (model, server):
        structured = await model.structured(DAYS_PROMPT, Days)
        completion = await model.complete(DAYS_PROMPT)
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
    async with open_test_model(stopped) as (model, _):
        structured = await model.structured(DAYS_PROMPT, Days)
    assert structured.value is None
    assert structured.call.filters == (FilterVerdict("output", "unspecified", filtered=True),)
    assert structured.call.input_tokens == 1000


async def test_verdicts_are_recorded_when_nothing_is_stopped() -> None:
    fine = says(
        DAYS_REPLY,
        content_filter_results={"sexual": {"filtered": False, "severity": "low"}},
        top={"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": VERDICTS}]},
    )
    async with open_test_model(fine) as (model, _):
        structured = await model.structured(DAYS_PROMPT, Days)
    assert structured.value is not None
    assert [verdict.direction for verdict in structured.call.filters] == ["input"] * 4 + ["output"]


async def test_a_server_without_a_key_is_sent_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    async with open_test_model(says("Yes."), api_key=None) as (model, server):
        server.key = "no-key"
        await model.complete(DAYS_PROMPT)
    assert server.seen[0].authorization == "Bearer no-key"


class RisingTokens:
    """An identity that gives a new, already ageing token each time."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.closed = False

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        self.scopes.extend(scopes)
        return AccessToken(f"token-{len(self.scopes)}", int(time.time()) + 60)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class NoIdentity(RisingTokens):
    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        raise ClientAuthenticationError(f"nobody is logged in for {scopes}")


async def test_an_identity_gives_a_fresh_token_to_each_request() -> None:
    identity = RisingTokens()
    async with openai_server(says("Yes.")) as server:
        model = open_model(ModelSettings("gpt-4o-mini", server.url, retry=QUICK_RETRIES), identity)
        for number in (1, 2):
            server.key = f"token-{number}"
            await model.complete(DAYS_PROMPT)
        await model.close()
    assert [request.authorization for request in server.seen] == [
        "Bearer token-1",
        "Bearer token-2",
    ]
    assert set(identity.scopes) == {"https://cognitiveservices.azure.com/.default"}
    assert not identity.closed  # it is the caller's


async def test_an_identity_without_a_token_is_said_with_the_cure() -> None:
    async with openai_server(says("Yes.")) as server:
        model = open_model(
            ModelSettings("gpt-4o-mini", server.url, retry=QUICK_RETRIES), NoIdentity()
        )
        with pytest.raises(ModelUnavailable, match="az login"):
            await model.complete(DAYS_PROMPT)
        await model.close()
        assert server.seen == []


@pytest.mark.parametrize(
    "base_url",
    ["https://acme.openai.azure.com/openai/v1/", "https://acme.services.ai.azure.com/openai/v1/"],
)
async def test_azure_without_a_key_opens_with_the_process_identity(base_url: str) -> None:
    model = open_model(ModelSettings("chat", base_url))
    await model.close()


TRACED_PROMPT = Prompt(
    "answer@3", (ChatMessage("user", "What does Anna earn?"),), temperature=0.0, max_output_tokens=9
)


class Said(BaseModel):
    text: str


async def test_a_call_is_told_by_the_conventions_names(spans: Spans) -> None:
    model = TracedModel(ScriptedModel(lambda _: '{"text": "Too much"}'), "http://127.0.0.1:1/v1")

    answered = await model.structured(TRACED_PROMPT, Said)

    assert answered.value == Said(text="Too much")
    assert model.name == "scripted"
    assert spans.told("generation") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "127.0.0.1",
        "server.address": "127.0.0.1",
        "gen_ai.request.model": "scripted",
        "frontdesk.model.name": "scripted",
        "gen_ai.prompt.name": "answer",
        "frontdesk.prompt.version": "3",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 1,
        "frontdesk.model.attempts": 1,
        "frontdesk.model.repaired": False,
        "frontdesk.model.refused": False,
    }
    assert spans.one("generation").kind is SpanKind.CLIENT
    assert "Anna" not in spans.one("generation").to_json()


@pytest.mark.parametrize(
    ("server", "sent"),
    [(says("Yes."), (0.0, 9)), (NO_TEMPERATURE(says("Yes.")), (None, 9 + 4096))],
    ids=["temperature", "reasoning model"],
)
async def test_a_span_names_only_parameters_that_were_sent(
    spans: Spans, server: Answer, sent: tuple[float | None, int]
) -> None:
    async with open_test_model(server) as (model, _):
        await TracedModel(model).complete(TRACED_PROMPT)

    told = spans.told("generation")
    assert (
        told.get("gen_ai.request.temperature"),
        told.get("gen_ai.request.max_tokens"),
    ) == sent


async def test_a_text_is_a_call_like_any_other(spans: Spans) -> None:
    completion = await TracedModel(ScriptedModel(lambda _: "Hello")).complete(TRACED_PROMPT)

    assert completion.text == "Hello"
    assert spans.told("generation")["gen_ai.provider.name"] == "openai"


async def test_a_model_that_does_not_answer_is_told_by_the_kind_of_failure(spans: Spans) -> None:
    def silent(_: Prompt) -> str:
        raise ModelUnavailable("the key sk-1 was refused")

    with pytest.raises(ModelUnavailable):
        await TracedModel(ScriptedModel(silent)).complete(TRACED_PROMPT)

    assert spans.told("generation")["error.type"] == "ModelUnavailable"
    assert "sk-1" not in spans.one("generation").to_json()


@pytest.mark.mended(id="mission-A5")
async def test_a_call_that_fails_is_told_with_the_tokens_it_took(spans: Spans) -> None:
    def spent(_: Prompt) -> str:
        error = ModelAnswerInvalid("no JSON in two tries")
        error.calls = (ModelCall("answer", "scripted", "answer@3", 2000, 200, 1.0),)
        raise error

    with pytest.raises(ModelAnswerInvalid):
        await TracedModel(ScriptedModel(spent)).complete(TRACED_PROMPT)

    told = spans.told("generation")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (2000, 200)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.openai.com/v1/", "openai"),
        ("https://eu.api.openai.com/v1/", "openai"),
        ("https://acme.openai.azure.com/openai/v1/", "azure.ai.openai"),
        ("https://evil-api.openai.com.example/v1", "evil-api.openai.com.example"),
        ("http://anna:pw@localhost:11434/v1", "localhost"),
    ],
)
def test_who_runs_the_server_is_named_without_password(address: str, name: str) -> None:
    assert provider_name(address) == name
