"""A server is stopped while it works."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from tests.bot.adapters.slack.server import FakeSlack
from tests.faults.model import QuotingModel
from tests.faults.server import Client, on_model, on_slack, server
from tests.faults.watching import all_once, question, until

pytestmark = pytest.mark.slow

END_SECONDS = 25.0


async def test_stopping_with_50_questions_under_way_takes_25_s_and_loses_none(
    data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(50)
    model.hold()
    async with server(data_dir, **on_slack(slack.url), **on_model(model.url)) as running:
        await running.start()
        sent = (asker.mention(running.url, *question(number)) for number in numbers)
        statuses = set(await asyncio.gather(*sent))
        waiting = asyncio.create_task(asker.ask(running.url, question(0)[0], "k"))
        await until(lambda: model.waiting == 16, within_seconds=10)

        running.send(signal.SIGTERM)
        started = time.monotonic()
        status, told = await waiting
        code = await running.ended(END_SECONDS)
        took = time.monotonic() - started

        model.let_go()
        await running.start()
        await until(all_once(slack, numbers), within_seconds=30)
        again, answer = await asker.ask(running.url, question(0)[0], "k")

    assert statuses == {200}
    assert code == 0
    assert took < END_SECONDS
    assert status == 503
    assert "is kept" in told["detail"]
    assert (again, answer["status"]) == (200, "answered")


async def test_what_can_be_finished_is_finished_before_the_server_ends(
    data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(10)
    model.hold()
    async with server(data_dir, **on_slack(slack.url), **on_model(model.url)) as running:
        await running.start()
        statuses = {await asker.mention(running.url, *question(number)) for number in numbers}
        await until(lambda: model.waiting == len(numbers), within_seconds=10)

        running.send(signal.SIGTERM)
        await asyncio.sleep(0.5)
        model.let_go()
        code = await running.ended(END_SECONDS)

    assert statuses == {200}
    assert code == 0
    assert all_once(slack, numbers)()


async def test_who_is_stopped_as_soon_as_it_serves_ends_in_order(data_dir: Path) -> None:
    async with server(data_dir) as running:
        await running.start()
        running.send(signal.SIGTERM)
        code = await running.ended(END_SECONDS)

    assert code == 0
    assert running.logged == []
