from __future__ import annotations

import pytest

from rag.models.chat.transport import CallTally, Exchange, model_call
from rag.models.protocol import ChatReply, Usage
from rag.ports import Prompt
from rag.types import ModelCall
from tests.rag.models.openai_server import completion

AZURE = "https://acme.openai.azure.com/openai/v1/"
ANSWERED = Exchange(ChatReply.model_validate(completion("Yes.")), ())
UNCOUNTED = Exchange(ChatReply.model_validate(completion("Yes.", top={"usage": None})), ())
BLOCKED = Exchange(None, ())


def record(*exchanges: Exchange, requests: int = 1) -> ModelCall:
    return model_call(
        Prompt(id="rewrite@3", messages=()),
        CallTally(list(exchanges), requests=requests),
        model="helpdesk",
        base_url=AZURE,
        duration_ms=12.5,
    )


def test_a_call_costs_what_its_model_costs_there() -> None:
    call = record(ANSWERED)
    assert (call.purpose, call.prompt, call.duration_ms) == ("rewrite", "rewrite@3", 12.5)
    assert call.cost_micro_usd == 210


def test_a_repair_adds_its_tokens_and_its_price() -> None:
    call = record(ANSWERED, ANSWERED, requests=2)
    assert (call.input_tokens, call.output_tokens, call.cost_micro_usd) == (2000, 200, 420)
    assert (call.repaired, call.attempts) == (True, 2)


@pytest.mark.mended(id="mission-A5")
def test_what_a_failed_call_took_has_the_price_of_a_good_one() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100)

    call = model_call(
        Prompt(id="answer@1", messages=()),
        CallTally(unread=[usage], requests=1),
        model="gpt-4o-mini-2024-07-18",
        base_url=AZURE,
        duration_ms=1.0,
    )

    assert (call.input_tokens, call.output_tokens, call.finish_reason) == (1000, 100, "error")
    assert call.cost_micro_usd == record(ANSWERED).cost_micro_usd


def test_a_price_with_an_unknown_part_is_unknown() -> None:
    assert record(ANSWERED, UNCOUNTED).cost_micro_usd is None
    assert record(ANSWERED, BLOCKED).cost_micro_usd is None


def test_a_question_that_was_blocked_has_no_tokens() -> None:
    call = record(BLOCKED, requests=2)
    assert (call.model, call.input_tokens, call.finish_reason, call.attempts) == (
        "helpdesk",
        0,
        "content_filter",
        2,
    )
