"""Trouble with a chat server, and what each call took in tokens and money."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from rag.errors import ModelUnavailable, RagError
from rag.models.chat_model import ModelSettings
from rag.models.chat_transport import CallTally, Exchange, model_call
from rag.models.client import cost_micro_usd
from rag.models.protocol import CachedTokens, ChatReply, Prices, Usage
from rag.ports import Prompt
from rag.retrying import question_limits
from rag.types import ModelCall
from tests.fakes.model_server import (
    DAYS_PROMPT,
    DAYS_REPLY,
    QUICK_RETRIES,
    Answer,
    Days,
    completion,
    cuts,
    fails,
    floods,
    open_test_model,
    openai_server,
    redirects,
    resets,
    says,
    sends,
    slowly,
)


@pytest.mark.parametrize(
    "trouble",
    [
        fails(429),
        fails(429, {"Retry-After": "0"}),
        fails(500),
        fails(502),
        fails(503),
        fails(504),
        resets,
        cuts,
        sends(b"<html>busy</html>", "text/html"),
        sends(b'{"choices": []}'),
        sends(b'{"choices": [{"message": {"content": '),
    ],
)
async def test_what_may_pass_is_tried_again(trouble: Answer) -> None:
    async with open_test_model(trouble, says("Yes.")) as (model, server):
        completion = await model.complete(DAYS_PROMPT)
    assert completion.text == "Yes."
    assert completion.call.attempts == 2
    assert len(server.seen) == 2


@pytest.mark.parametrize("trouble", [fails(429), fails(500), resets, cuts, sends(b"{")])
async def test_what_does_not_pass_is_unavailable_after_the_last_try(trouble: Answer) -> None:
    async with open_test_model(trouble) as (model, server):
        with pytest.raises(ModelUnavailable, match="'gpt-4o-mini'"):
            await model.complete(DAYS_PROMPT)
        assert len(server.seen) == QUICK_RETRIES.attempts


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "0.3"}, {"retry-after-ms": "300", "Retry-After": "9"}]
)
async def test_the_wait_that_a_server_asks_for_is_kept(headers: dict[str, str]) -> None:
    async with open_test_model(fails(429, headers), says("Yes.")) as (model, _):
        started = time.perf_counter()
        await model.complete(DAYS_PROMPT)
    assert 0.3 <= time.perf_counter() - started < 9


@pytest.mark.parametrize(
    "after",
    ["60", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)],
    ids=["seconds", "date"],
)
async def test_a_wait_beyond_the_deadline_is_not_begun(after: str) -> None:
    async with open_test_model(fails(429, {"Retry-After": after})) as (model, server):
        started = time.perf_counter()
        with pytest.raises(ModelUnavailable, match="429"):
            await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 1
    assert time.perf_counter() - started < 60


async def test_the_deadline_covers_all_tries() -> None:
    slow = slowly(0.25, fails(500))
    async with open_test_model(slow, timeout_seconds=0.6) as (model, server):
        started = time.perf_counter()
        with pytest.raises(ModelUnavailable, match="OPENAI_TIMEOUT_SECONDS"):
            await model.complete(DAYS_PROMPT)
        assert time.perf_counter() - started > 0.5
        assert len(server.seen) >= 2


async def test_all_calls_for_one_question_share_its_deadline() -> None:
    slow = slowly(0.3, says("Yes."))
    async with open_test_model(slow, timeout_seconds=60) as (model, server):
        with question_limits(0.5):
            await asyncio.sleep(0.6)  # what else a question takes does not count
            await model.complete(DAYS_PROMPT)
            with pytest.raises(ModelUnavailable, match="OPENAI_TIMEOUT_SECONDS"):
                await model.complete(DAYS_PROMPT)
            with pytest.raises(ModelUnavailable, match="the 0 seconds left of 60"):
                await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 2
        assert (await model.complete(DAYS_PROMPT)).text == "Yes."


async def test_the_deadline_covers_the_repair() -> None:
    async with open_test_model(says("{"), slowly(5, says(DAYS_REPLY)), timeout_seconds=0.4) as (
        model,
        _,
    ):
        with pytest.raises(ModelUnavailable, match="OPENAI_TIMEOUT_SECONDS"):
            await model.structured(DAYS_PROMPT, Days)


@pytest.mark.parametrize(
    ("answer", "setting"),
    [
        (fails(401), "OPENAI_API_KEY"),
        (fails(403), "Cognitive Services OpenAI User"),
        (fails(404), "OPENAI_MODEL"),
        (fails(429, code="insufficient_quota"), "billing"),
        (fails(418), "OPENAI_BASE_URL"),
    ],
)
async def test_what_will_not_pass_is_said_at_once_with_the_setting(
    answer: Answer, setting: str
) -> None:
    async with open_test_model(answer) as (model, server):
        with pytest.raises(ModelUnavailable, match=setting):
            await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 1


async def test_a_wrong_key_is_in_no_message_log_or_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = "sk-wrong-abcdefghij"
    with caplog.at_level("DEBUG"):
        async with open_test_model(says("Yes."), api_key=wrong) as (model, _):
            with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY") as caught:
                await model.complete(DAYS_PROMPT)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert wrong not in shown
    assert wrong not in repr(ModelSettings(model="m", api_key=wrong))


async def test_a_redirect_is_not_followed_and_the_key_stays() -> None:
    async with openai_server(says("Gotcha.")) as thief:
        async with open_test_model(redirects(f"{thief.url}chat/completions")) as (model, _):
            with pytest.raises(ModelUnavailable, match="final address"):
                await model.complete(DAYS_PROMPT)
        assert thief.seen == []


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    async with open_test_model(floods(64 * 1024 * 1024)) as (model, server):
        with pytest.raises(ModelUnavailable, match="bytes"):
            await model.complete(DAYS_PROMPT)
        assert len(server.seen) == 1


UNREADABLE = sends(json.dumps(completion("Yes.", top={"choices": []})).encode())


@pytest.mark.mended(id="mission-A5")
@pytest.mark.parametrize(
    ("answers", "tokens", "requests"),
    [
        ((says("{"), says("{")), (2000, 200), 2),
        ((says("{"), slowly(5, says(DAYS_REPLY))), (1000, 100), 2),
        ((says("{"), fails(401)), (1000, 100), 2),
        ((UNREADABLE,), (3000, 300), 3),
    ],
    ids=["twice in another form", "a repair that hangs", "a repair that is refused", "unreadable"],
)
async def test_a_failed_call_carries_what_the_server_counted(
    answers: tuple[Answer, ...], tokens: tuple[int, int], requests: int
) -> None:
    async with open_test_model(*answers, timeout_seconds=0.5) as (model, _):
        with pytest.raises(RagError) as caught:
            await model.structured(DAYS_PROMPT, Days)

    (call,) = caught.value.calls
    assert (call.input_tokens, call.output_tokens) == tokens
    assert (call.purpose, call.attempts) == ("answer", requests)


async def test_a_call_of_which_nothing_was_counted_is_none() -> None:
    async with open_test_model(fails(500)) as (model, _):
        with pytest.raises(ModelUnavailable) as caught:
            await model.complete(DAYS_PROMPT)

    assert caught.value.calls == ()


AZURE = "https://acme.openai.azure.com/openai/v1/"
ANSWERED = Exchange(ChatReply.model_validate(completion("Yes.")), ())
UNCOUNTED = Exchange(ChatReply.model_validate(completion("Yes.", top={"usage": None})), ())
BLOCKED = Exchange(None, ())


def azure_price(usage: Usage, models: tuple[str, ...]) -> int | None:
    return cost_micro_usd(usage, models, AZURE)


def record(*exchanges: Exchange, requests: int = 1) -> ModelCall:
    return model_call(
        Prompt(id="rewrite@3", messages=()),
        CallTally(list(exchanges), requests=requests),
        model="helpdesk",
        price=azure_price,
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
        price=azure_price,
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


OPENAI_URL = "https://api.openai.com/v1/"
AZURE_URL = "https://acme.openai.azure.com/openai/v1/"
USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)


@pytest.mark.parametrize("base_url", [OPENAI_URL, AZURE_URL])
def test_a_known_model_has_a_price_in_whole_millionths(base_url: str) -> None:
    assert cost_micro_usd(USAGE, ("gpt-4o-mini",), base_url) == 750_000


def test_a_small_call_is_rounded_to_the_nearest_millionth() -> None:
    assert cost_micro_usd(Usage(prompt_tokens=10), ("gpt-4o-mini",), OPENAI_URL) == 2


def test_an_azure_deployment_is_priced_by_the_model_that_answered() -> None:
    assert cost_micro_usd(USAGE, ("gpt-4o-mini-2024-07-18", "helpdesk"), AZURE_URL) == 750_000
    assert cost_micro_usd(USAGE, ("helpdesk",), AZURE_URL) is None


def test_cached_input_costs_less() -> None:
    cached = USAGE.model_copy(update={"prompt_tokens_details": CachedTokens(cached_tokens=500_000)})
    assert cost_micro_usd(cached, ("gpt-4o-mini",), OPENAI_URL) == 712_500


def test_more_cached_than_sent_is_no_error() -> None:
    odd = Usage(prompt_tokens=10, prompt_tokens_details=CachedTokens(cached_tokens=99))
    assert cost_micro_usd(odd, ("gpt-4o-mini",), OPENAI_URL) == 1


def test_a_gateway_costs_what_its_operator_says() -> None:
    assert Prices(0.25, 2.0).micro_usd(USAGE) == 2_250_000
    assert Prices(0.25, 2.0).micro_usd(Usage(prompt_tokens=1000, completion_tokens=10)) == 270


def test_ones_own_server_has_no_price() -> None:
    assert cost_micro_usd(USAGE, ("llama3.1", "gpt-4o-mini"), "http://127.0.0.1:11434/v1/") is None
