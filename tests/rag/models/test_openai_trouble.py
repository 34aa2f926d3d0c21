from __future__ import annotations

import json
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from rag.errors import ModelUnavailable, RagError
from rag.models.chat.openai_compatible import ModelSettings
from tests.rag.models.asking import FAST, GOOD, PROMPT, Days, asked
from tests.rag.models.openai_server import (
    Answer,
    completion,
    cuts,
    fails,
    floods,
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
    async with asked(trouble, says("Yes.")) as (model, server):
        completion = await model.complete(PROMPT)
    assert completion.text == "Yes."
    assert completion.call.attempts == 2
    assert len(server.seen) == 2


@pytest.mark.parametrize("trouble", [fails(429), fails(500), resets, cuts, sends(b"{")])
async def test_what_does_not_pass_is_unavailable_after_the_last_try(trouble: Answer) -> None:
    async with asked(trouble) as (model, server):
        with pytest.raises(ModelUnavailable, match="'gpt-4o-mini'"):
            await model.complete(PROMPT)
        assert len(server.seen) == FAST.attempts


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "0.3"}, {"retry-after-ms": "300", "Retry-After": "9"}]
)
async def test_the_wait_that_a_server_asks_for_is_kept(headers: dict[str, str]) -> None:
    async with asked(fails(429, headers), says("Yes.")) as (model, _):
        started = time.perf_counter()
        await model.complete(PROMPT)
    assert 0.3 <= time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "after",
    ["60", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)],
    ids=["seconds", "date"],
)
async def test_a_wait_beyond_the_deadline_is_not_begun(after: str) -> None:
    async with asked(fails(429, {"Retry-After": after})) as (model, server):
        started = time.perf_counter()
        with pytest.raises(ModelUnavailable, match="429"):
            await model.complete(PROMPT)
        assert len(server.seen) == 1
    assert time.perf_counter() - started < 2


async def test_the_deadline_covers_all_tries() -> None:
    slow = slowly(0.25, fails(500))
    async with asked(slow, timeout_seconds=0.6) as (model, server):
        started = time.perf_counter()
        with pytest.raises(ModelUnavailable, match="OPENAI_TIMEOUT_SECONDS"):
            await model.complete(PROMPT)
        assert 0.5 < time.perf_counter() - started < 1.5
        assert len(server.seen) >= 2


async def test_the_deadline_covers_the_repair() -> None:
    async with asked(says("{"), slowly(5, says(GOOD)), timeout_seconds=0.4) as (model, _):
        with pytest.raises(ModelUnavailable, match=r"0\.4 seconds"):
            await model.structured(PROMPT, Days)


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
    async with asked(answer) as (model, server):
        with pytest.raises(ModelUnavailable, match=setting):
            await model.complete(PROMPT)
        assert len(server.seen) == 1


async def test_a_wrong_key_is_in_no_message_log_or_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = "sk-wrong-abcdefghij"
    with caplog.at_level("DEBUG"):
        async with asked(says("Yes."), api_key=wrong) as (model, _):
            with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY") as caught:
                await model.complete(PROMPT)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert wrong not in shown
    assert wrong not in repr(ModelSettings(model="m", api_key=wrong))


async def test_a_redirect_is_not_followed_and_the_key_stays() -> None:
    async with openai_server(says("Gotcha.")) as thief:
        async with asked(redirects(f"{thief.url}chat/completions")) as (model, _):
            with pytest.raises(ModelUnavailable, match="final address"):
                await model.complete(PROMPT)
        assert thief.seen == []


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    async with asked(floods(64 * 1024 * 1024)) as (model, server):
        with pytest.raises(ModelUnavailable, match="bytes"):
            await model.complete(PROMPT)
        assert len(server.seen) == 1


UNREADABLE = sends(json.dumps(completion("Yes.", top={"choices": []})).encode())


@pytest.mark.mended(id="mission-A5")
@pytest.mark.parametrize(
    ("answers", "tokens", "requests"),
    [
        ((says("{"), says("{")), (2000, 200), 2),
        ((says("{"), slowly(5, says(GOOD))), (1000, 100), 2),
        ((says("{"), fails(401)), (1000, 100), 2),
        ((UNREADABLE,), (3000, 300), 3),
    ],
    ids=["twice in another form", "a repair that hangs", "a repair that is refused", "unreadable"],
)
async def test_a_failed_call_carries_what_the_server_counted(
    answers: tuple[Answer, ...], tokens: tuple[int, int], requests: int
) -> None:
    async with asked(*answers, timeout_seconds=0.5) as (model, _):
        with pytest.raises(RagError) as caught:
            await model.structured(PROMPT, Days)

    (call,) = caught.value.calls
    assert (call.input_tokens, call.output_tokens) == tokens
    assert (call.purpose, call.attempts) == ("answer", requests)


async def test_a_call_of_which_nothing_was_counted_is_none() -> None:
    async with asked(fails(500)) as (model, _):
        with pytest.raises(ModelUnavailable) as caught:
            await model.complete(PROMPT)

    assert caught.value.calls == ()
