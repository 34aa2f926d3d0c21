"""Limits and the pause in the application as ``serve`` builds it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bot.answering.limits import FLOOD_FACTOR
from bot.app.cli import administration
from bot.domain.outcomes import NOT_KEPT
from bot.domain.settings import Settings
from tests.fakes.http_server import LIKELY, Client, serving_application, settings_for, write_index
from tests.fakes.model_server import KEY, openai_server, says


async def told(client: Client, *questions: str) -> list[str]:
    answers = []
    for question in questions:
        response = await client.post("/api/v1/ask", json={"question": question})
        assert response.status == 200
        answers.append((await response.json())["answer"])
    return answers


async def state(client: Client) -> Sequence[object]:
    response = await client.get("/ready")
    parts = {part["name"]: part for part in (await response.json())["parts"]}
    return response.status, parts["limits"]["state"], parts["limits"]["detail"]


async def test_one_question_too_many_is_told_to_wait(tmp_path: Path) -> None:
    async with serving_application(settings_for(tmp_path, rate_per_user_per_minute=2)) as client:
        answers = await told(client, "hi", "thanks", "hi")

    waits = [answer.startswith("I can only take 2 messages a minute") for answer in answers]
    assert waits == [False, False, True]


async def test_a_pause_holds_at_once_until_it_is_lifted(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with serving_application(settings) as client:
        before = await told(client, "hi")
        await administration.pause(settings, reason="We move the wiki", by="ops")
        paused, shown = await told(client, "hi"), await state(client)
        await administration.resume(settings)
        after, clear = await told(client, "hi"), await state(client)

    assert before == after
    assert paused[0].startswith("I'm paused for now: We move the wiki. ")
    assert shown[:2] == (200, "paused")
    assert "paused by ops since" in str(shown[2])
    assert clear[:2] == (200, "ready")


@pytest.mark.mended(id="mission-S4")
async def test_the_api_says_by_its_status_that_it_is_too_much(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, rate_per_user_per_minute=1)
    async with serving_application(settings) as client:
        await told(client, "hi")
        hurried = await client.post("/api/v2/ask", json={"question": "hi"})
        await administration.pause(settings, reason="We move the wiki", by="ops")
        paused = await client.post("/api/v2/ask", json={"question": "hi"})

    assert (hurried.status, paused.status) == (429, 503)
    assert 1 <= int(hurried.headers["Retry-After"]) <= 60
    assert "Retry-After" in paused.headers


def with_model(tmp_path: Path, url: str, **changes: object) -> Settings:
    return settings_for(
        tmp_path, openai_base_url=url, openai_api_key=KEY, openai_model="unruly", **changes
    )


@pytest.mark.mended(id="mission-A5")
@pytest.mark.parametrize(
    ("questions", "purposes"),
    [
        ((LIKELY,), ["answer"]),
        (("tell me a joke",), ["generic"]),
        ((LIKELY, "and on the phone?"), ["understand", "answer"]),
        (("zorgle the frimbus",), ["understand"]),
    ],
    ids=["answer", "generic", "follow-up", "grey band"],
)
async def test_tokens_of_calls_that_failed_are_counted(
    tmp_path: Path, questions: Sequence[str], purposes: Sequence[str]
) -> None:
    async with openai_server(says("")) as server:
        settings = with_model(tmp_path / "data", server.url)
        await write_index(settings, tmp_path / "pages")
        async with serving_application(settings) as client:
            for question in questions:
                sent = {"question": question, "conversation_id": "c", "show_pipeline": True}
                response = await client.post("/api/v1/ask", json=sent)
                body = await response.json()
            usage = await (await client.get("/api/v1/usage")).json()

    calls = body["pipeline"]["model_calls"]
    assert [call["purpose"] for call in calls] == purposes
    assert usage["sums"][0]["input_tokens"] == 1000 * len(server.seen)


@pytest.mark.mended(id="mission-A5")
async def test_calls_that_failed_use_up_the_budget(tmp_path: Path) -> None:
    async with openai_server(says("no JSON")) as server:
        settings = with_model(tmp_path / "data", server.url, model_tokens_per_day=2000)
        await write_index(settings, tmp_path / "pages")
        async with serving_application(settings) as client:
            _, second = await told(client, LIKELY, LIKELY)

    assert second.startswith("I've given all the answers I may for today.")
    assert len(server.seen) == 2


CANARY = "the quokka merger is off"


def record_of(data_dir: Path) -> str:
    """Return all that the record holds, as SQL."""
    with closing(sqlite3.connect(data_dir / "frontdesk.sqlite")) as record:
        return "\n".join(record.iterdump())


@pytest.mark.mended(id="attack-10")
@pytest.mark.parametrize("why", ["rate", "pause"])
async def test_of_a_refused_question_no_text_is_kept_or_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], why: str
) -> None:
    settings = settings_for(tmp_path, rate_per_user_per_minute=1)
    if why == "pause":
        await administration.pause(settings, reason="We move the wiki", by="ops")
    key = {"Idempotency-Key": "k1"}
    async with serving_application(settings) as client:
        await client.post("/api/v1/ask", json={"question": "hi"})
        asked = [
            await client.post("/api/v1/ask", json={"question": CANARY}, headers=key)
            for _ in range(2)
        ]
        first, again = [await each.json() for each in asked]
        shown = await client.get(f"/api/v1/interactions/{first['interaction_id']}")

        assert again["answer"] == first["answer"]
        assert (await shown.json())["question"] == NOT_KEPT
    assert first["interaction_id"] in record_of(tmp_path)
    assert CANARY not in record_of(tmp_path)
    assert CANARY not in "".join(capfd.readouterr())


@pytest.mark.mended(id="attack-10")
async def test_far_beyond_a_rate_nothing_is_kept(tmp_path: Path) -> None:
    async with serving_application(settings_for(tmp_path, rate_per_user_per_minute=2)) as client:
        asked = [
            await client.post("/api/v1/ask", json={"question": f"hi {n}"})
            for n in range(2 * FLOOD_FACTOR + 3)
        ]
        metrics = await (await client.get("/metrics")).text()

    assert [each.status for each in asked] == [200] * 2 * FLOOD_FACTOR + [429] * 3
    assert 0 < int(asked[-1].headers["Retry-After"]) <= 60
    assert record_of(tmp_path).count('INSERT INTO "interactions"') == 2 * FLOOD_FACTOR
    assert 'frontdesk_messages_dropped_total{platform="rest"} 3.0' in metrics
