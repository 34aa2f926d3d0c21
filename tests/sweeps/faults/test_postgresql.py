"""PostgreSQL is away at the start, in the middle of work, or one of two servers stands still."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import (
    Client,
    Server,
    all_once,
    ask_of_held,
    on_model,
    on_slack,
    question,
    replies,
    server,
    until,
    until_not_ready,
    until_ready,
)
from tests.sweeps.sizes import sizes

pytestmark = pytest.mark.skipif(not postgres.available(), reason=postgres.MISSING)

DATABASE = "faults"


@pytest.fixture
def database() -> Iterator[postgres.Server]:
    """A PostgreSQL of one's own, which may be stopped."""
    with postgres.running() as running:
        running.create(DATABASE)
        yield running


async def test_a_start_without_postgresql_says_so_and_goes_on_when_it_comes(
    data_dir: Path, database: postgres.Server, slack: FakeSlack, asker: Client
) -> None:
    database.stop()
    async with server(
        data_dir, DATABASE_URL=database.url(DATABASE), **on_slack(slack.url)
    ) as running:
        await running.start()
        trouble = await until_not_ready(asker, running.url)
        refused = await asker.mention(running.url, *question(0))
        asked, told = await asker.ask(running.url, question(0)[0], "k")
        alive, _ = await asker.get(f"{running.url}/health")

        await asyncio.to_thread(database.restart)
        await until_ready(asker, running.url)
        taken = await asker.mention(running.url, *question(1))
        await until(all_once(slack, [1]))

    assert "inbox" in trouble
    assert "DATABASE_URL" in trouble
    assert postgres.PASSWORD not in " ".join([trouble, *running.logged])
    assert (refused, asked, alive) == (503, 503, 200)
    assert "Try again" in told["detail"]
    assert taken == 200


@sizes("crash", smoke=True, whole=False)
async def test_what_was_acknowledged_is_answered_when_postgresql_comes_back(
    crash: bool,  # noqa: FBT001 - a case of the fault
    data_dir: Path,
    database: postgres.Server,
    slack: FakeSlack,
    model: QuotingModel,
    asker: Client,
) -> None:
    numbers = range(10)
    async with server(
        data_dir,
        DATABASE_URL=database.url(DATABASE),
        **on_slack(slack.url),
        **on_model(model.url),
    ) as running:
        await ask_of_held(model, asker, running, numbers)

        await asyncio.to_thread(database.stop, crash=crash)
        model.let_go()
        trouble = await until_not_ready(asker, running.url)
        refused = await asker.mention(running.url, *question(20))
        await asyncio.to_thread(database.restart)
        await until_ready(asker, running.url)
        await until(all_once(slack, numbers))

    assert "database server" in trouble
    assert refused == 503


@pytest.mark.sweep
async def test_a_server_that_stood_still_for_longer_than_its_lease_answers_nothing_twice(
    prepared: Path,
    tmp_path: Path,
    database: postgres.Server,
    slack: FakeSlack,
    model: QuotingModel,
    asker: Client,
) -> None:
    numbers = range(8)
    settings = {
        "DATABASE_URL": database.url(DATABASE),
        **on_slack(slack.url),
        **on_model(model.url),
    }
    one_dir, other_dir = (shutil.copytree(prepared, tmp_path / name) for name in "ab")
    async with server(one_dir, **settings) as one, server(other_dir, **settings) as other:
        await asyncio.gather(one.start(), other.start())
        model.hold()
        statuses = {await asker.mention(one.url, *question(number)) for number in numbers}
        await until(lambda: model.waiting == len(numbers))

        one.send(signal.SIGSTOP)
        model.let_go()
        await until(all_once(slack, numbers))
        one.send(signal.SIGCONT)
        await still_once(slack, one, asker)

    assert statuses == {200}
    assert set(replies(slack, numbers).values()) == {1}
    assert len(slack.posts) == len(numbers)


async def still_once(slack: FakeSlack, woken: Server, asker: Client) -> None:
    """Wait until a server that stood still has had time to do harm, and works again."""
    await asyncio.sleep(5)
    await until_ready(asker, woken.url)
    assert await asker.mention(woken.url, *question(0)) == 200
