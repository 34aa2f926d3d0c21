from __future__ import annotations

from rag.models.recording import recorded
from rag.models.transport import Exchange
from rag.models.wire import ChatReply
from rag.ports import Prompt
from rag.types import ModelCall
from tests.rag.models.openai_server import completion

ANSWERED = Exchange(ChatReply.model_validate(completion("Yes.")), (), requests=1)
UNCOUNTED = Exchange(
    ChatReply.model_validate(completion("Yes.", top={"usage": None})), (), requests=1
)
BLOCKED = Exchange(None, (), requests=2)


def record(*exchanges: Exchange) -> ModelCall:
    return recorded(
        Prompt(id="rewrite@3", messages=()),
        exchanges,
        model="helpdesk",
        base_url="https://acme.openai.azure.com/openai/v1/",
        duration_ms=12.5,
    )


def test_a_call_costs_what_its_model_costs_there() -> None:
    call = record(ANSWERED)
    assert (call.purpose, call.prompt, call.duration_ms) == ("rewrite", "rewrite@3", 12.5)
    assert call.cost_micro_usd == 210


def test_a_repair_adds_its_tokens_and_its_price() -> None:
    call = record(ANSWERED, ANSWERED)
    assert (call.input_tokens, call.output_tokens, call.cost_micro_usd) == (2000, 200, 420)
    assert (call.repaired, call.attempts) == (True, 2)


def test_a_price_with_an_unknown_part_is_unknown() -> None:
    assert record(ANSWERED, UNCOUNTED).cost_micro_usd is None
    assert record(ANSWERED, BLOCKED).cost_micro_usd is None


def test_a_question_that_was_blocked_has_no_tokens() -> None:
    call = record(BLOCKED)
    assert (call.model, call.input_tokens, call.finish_reason, call.attempts) == (
        "helpdesk",
        0,
        "content_filter",
        2,
    )
