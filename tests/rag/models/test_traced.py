from __future__ import annotations

import pytest
from opentelemetry.trace import SpanKind
from pydantic import BaseModel

from rag.errors import ModelAnswerInvalid, ModelUnavailable
from rag.models.chat.openai_compatible import TracedModel, provider_name
from rag.ports import ChatMessage, Prompt
from rag.types import ModelCall
from tests.fakes import ScriptedModel
from tests.spans import Spans

PROMPT = Prompt(
    "answer@3", (ChatMessage("user", "What does Anna earn?"),), temperature=0.0, max_output_tokens=9
)


class Said(BaseModel):
    text: str


async def test_a_call_is_told_by_the_conventions_names(spans: Spans) -> None:
    model = TracedModel(ScriptedModel(lambda _: '{"text": "Too much"}'), "http://127.0.0.1:1/v1")

    answered = await model.structured(PROMPT, Said)

    assert answered.value == Said(text="Too much")
    assert model.name == "scripted"
    assert spans.told("generation") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "127.0.0.1",
        "server.address": "127.0.0.1",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 9,
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


async def test_a_text_is_a_call_like_any_other(spans: Spans) -> None:
    completion = await TracedModel(ScriptedModel(lambda _: "Hello")).complete(PROMPT)

    assert completion.text == "Hello"
    assert spans.told("generation")["gen_ai.provider.name"] == "openai"


async def test_a_model_that_does_not_answer_is_told_by_the_kind_of_failure(spans: Spans) -> None:
    def silent(_: Prompt) -> str:
        raise ModelUnavailable("the key sk-1 was refused")

    with pytest.raises(ModelUnavailable):
        await TracedModel(ScriptedModel(silent)).complete(PROMPT)

    assert spans.told("generation")["error.type"] == "ModelUnavailable"
    assert "sk-1" not in spans.one("generation").to_json()


@pytest.mark.mended(id="mission-A5")
async def test_a_call_that_fails_is_told_with_the_tokens_it_took(spans: Spans) -> None:
    def spent(_: Prompt) -> str:
        error = ModelAnswerInvalid("no JSON in two tries")
        error.calls = (ModelCall("answer", "scripted", "answer@3", 2000, 200, 1.0),)
        raise error

    with pytest.raises(ModelAnswerInvalid):
        await TracedModel(ScriptedModel(spent)).complete(PROMPT)

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
