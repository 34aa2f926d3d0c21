"""Limits and pause in the application as ``serve`` builds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bot.commands import pausing
from tests.bot.house import Client, house
from tests.bot.server import settings_for


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
    async with house(settings_for(tmp_path, rate_per_user_per_minute=2)) as client:
        answers = await told(client, "hi", "thanks", "hi")

    waits = [answer.startswith("I can only take 2 messages a minute") for answer in answers]
    assert waits == [False, False, True]


async def test_a_pause_holds_at_once_until_it_is_lifted(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with house(settings) as client:
        before = await told(client, "hi")
        await pausing.pause(settings, reason="We move the wiki", by="ops")
        paused, shown = await told(client, "hi"), await state(client)
        await pausing.resume(settings)
        after, clear = await told(client, "hi"), await state(client)

    assert before == after
    assert paused[0].startswith("I'm paused for now: We move the wiki. ")
    assert shown[:2] == (200, "paused")
    assert "paused by ops since" in str(shown[2])
    assert clear[:2] == (200, "ready")
